package activities

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A disk without space costs an attempt and leaves nothing behind; once there is space, the next attempt carries the result.
func TestFetchToAFullDisk(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, answers(200, string(export)))
	if err := syscall.Mount("tmpfs", f.dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a disk of one megabyte cannot be made here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(f.dir, 0)) })
	require.Greater(t, len(export), 1<<20)

	require.Contains(t, f.interrupted(nil).Error(), "destination")
	f.nothing()
	require.NoError(t, syscall.Mount("tmpfs", f.dir, "tmpfs", syscall.MS_REMOUNT, "size=8m"))
	f.ended(nil)
	require.Equal(t, export, f.written())
}
