package startercmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines keep within a terminal; what was set in stays so, and a long word stays whole. Without a terminal nothing changes.
func TestWrap(t *testing.T) {
	t.Parallel()
	const long = "  extend: extend waiting by up to 7 days with up to 10000 more checks"
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{long, 0, long},
		{long, len(long), long},
		{long, 40, "  extend: extend waiting by up to 7 days\n    with up to 10000 more checks"},
		{"short\n" + long, 40, "short\n  extend: extend waiting by up to 7 days\n    with up to 10000 more checks"},
		{"see https://example.com/" + strings.Repeat("x", 50) + " now", 40, "see\n  https://example.com/" + strings.Repeat("x", 50) + "\n  now"},
		{strings.Repeat("ä", 40), 40, strings.Repeat("ä", 40)},
		{strings.Repeat("ä ", 40), 40, strings.TrimRight(strings.Repeat("ä ", 20), " ") + "\n  " + strings.TrimRight(strings.Repeat("ä ", 19), " ") + "\n  ä "},
		{"", 40, ""},
	} {
		require.Equal(t, c.want, wrap(c.text, c.columns))
	}
}

// The last column of a table is the one that gives way.
func TestNarrowTable(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"ID", "OPTIONS"}, {"op#1", "extend, treat_as_pending, cancel, close"}, {"op#2", "close"}}
	require.Equal(t, rows, narrow(rows, 0))
	require.Equal(t, rows, narrow(rows, 80))
	var out bytes.Buffer
	require.NoError(t, alignRows(&out, narrow(rows, 34)))
	require.Equal(t, "ID    OPTIONS\nop#1  extend, treat_as_pending,\n        cancel, close\nop#2  close\n", out.String())
	require.Empty(t, narrow(nil, 40))
}

func TestNoTerminal(t *testing.T) {
	t.Parallel()
	for _, stream := range []any{&bytes.Buffer{}, strings.NewReader(""), nil} {
		require.False(t, isTerminal(stream))
		require.Zero(t, width(stream))
		require.Zero(t, height(stream))
	}
}

// Until an answer is right, it is asked for; the end of the input and of the context end the asking.
func TestPrompter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := prompter{out: &out, lines: readLines(strings.NewReader("x\n 7 \n"))}
	n, err := p.number(t.Context(), "how many", 4, 9)
	require.NoError(t, err)
	require.Equal(t, 7, n)
	require.Equal(t, "  how many? [4]   \"x\" is not a number from 0 to 9\n  how many? [4] ", out.String())
	_, err = p.number(t.Context(), "how many", 4, 9)
	require.ErrorIs(t, err, errNoInput)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = prompter{out: &out, lines: make(chan string)}.line(ctx, "?")
	require.ErrorIs(t, err, context.Canceled)
	moot := make(chan struct{})
	close(moot)
	_, err = prompter{out: &out, lines: make(chan string), moot: moot}.line(t.Context(), "?")
	require.ErrorIs(t, err, errMoot)
}

func TestSpanTyped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"15m": 900, "1h30m": 5400, "900": 900, "0": 0, "-5": -5, "90s": 90, "7 days": 604_800, "1d": 86_400, "1 day": 86_400} {
		got, ok := spanTyped(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "soon", "1500ms", "days", "1.5 days", "-1 days", "99999999999999 days", "15 m"} {
		_, ok := spanTyped(text)
		require.False(t, ok, text)
	}
}
