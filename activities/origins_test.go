package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/lanes"
)

func TestOriginsOverDefaults(t *testing.T) {
	t.Parallel()
	origins, err := LoadOrigins(write(t, "origins.yaml", `
default: {requests_per_second: 50, max_hold_seconds: 60}
origins:
  "https://API.example.com:443/": {requests_per_second: 2.5, max_concurrent: 10}
  "https://free.example.com": {max_hold_seconds: 0}
`))
	require.NoError(t, err)
	byOrigin, err := origins.byOrigin()
	require.NoError(t, err)
	require.Equal(t, lanes.Limits{Rate: 2.5, Concurrent: 10, MaxHold: time.Minute}, byOrigin["https://api.example.com"].lane())
	require.Equal(t, lanes.Limits{Rate: 50}, byOrigin["https://free.example.com"].lane())
	require.Equal(t, lanes.Limits{Rate: 50, MaxHold: time.Minute}, origins.Default.lane())
	require.Equal(t, lanes.Limits{MaxHold: 10 * time.Minute}, Origins{}.Default.lane())
}

func TestOriginsRefuse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                                   "the file is empty",
		"rate: 3":                                            "line 1: a field that is not known",
		"default: {requests_per_second: 0}":                  "origins: default: requests_per_second is 0, allowed is 0.001 to 10000; leave it out for no rate",
		"default: {requests_per_second: .nan}":               "requests_per_second is NaN",
		"default: {max_concurrent: 0}":                       "origins: default: max_concurrent is 0, allowed is 1 to 10000; leave it out for no bound",
		"default: {max_hold_seconds: 86401}":                 "origins: default: max_hold_seconds is 86401, allowed is 0 to 86400",
		`origins: {"api.example.com": {}}`:                   `origins: origin "api.example.com": the scheme is not http or https`,
		`origins: {"https://api.example.com/v1": {}}`:        `origin "https://api.example.com" goes on after host and port`,
		`origins: {"https://me:secret@api.example.com": {}}`: `origin "...@api.example.com": the URL has userinfo`,
		`origins: {"https://api.example.com": {max_concurrent: -1}}`:              "origins: https://api.example.com: max_concurrent is -1",
		`origins: {"https://a.example.com": {}, "https://a.example.com:443": {}}`: `"https://a.example.com" is listed twice`,
	} {
		_, err := LoadOrigins(write(t, "origins.yaml", text))
		require.ErrorContains(t, err, want, text)
	}
}
