package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A second of 1.5 times the mean is one too many, one just below it is not; and nothing at all is even.
func TestEvenness(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		counts     []int
		peak, over int
		mean       float64
	}{
		"even":             {[]int{2, 2, 2, 2}, 2, 0, 2},
		"just below":       {[]int{2, 2, 2, 2, 2, 2, 2, 3}, 3, 0, 2.125},
		"one is too large": {[]int{2, 3, 1}, 3, 1, 2},
		"nothing":          {[]int{0, 0}, 0, 0, 0},
	} {
		peak, mean, over := evenness(test.counts)
		require.Equal(t, test.peak, peak, name)
		require.InDelta(t, test.mean, mean, 1e-9, name)
		require.Equal(t, test.over, over, name)
	}
}
