package workercmd_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/workercmd"
)

// Messages are compressed where somebody asks for it, and only there.
func TestConnection(t *testing.T) {
	t.Parallel()
	logger := slog.New(slog.DiscardHandler)
	plain, err := workercmd.Connection(logger, false)
	require.NoError(t, err)
	require.Equal(t, &client.GrpcCompressionNone{}, plain.ConnectionOptions.GrpcCompression)
	compressed, err := workercmd.Connection(logger, true)
	require.NoError(t, err)
	require.Nil(t, compressed.ConnectionOptions.GrpcCompression, "the SDK's default is gzip")
}
