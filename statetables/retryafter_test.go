package statetables

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

var (
	// now is when answers are received in these tests.
	now     = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	nowDate = "Thu, 15 Jan 2026 12:00:00 GMT"
)

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		give     []string
		date     string
		at       time.Time
		want     int64 // -1: none
		rejected string
	}{
		{name: "R16 none", want: -1},
		{name: "H6 whole seconds", give: []string{"60"}, want: 60},
		{name: "H3 a day", give: []string{"86400"}, want: 86400},
		{name: "R16 leading zeros", give: []string{"007"}, want: 7},
		{name: "R16 space around it", give: []string{" 60 "}, want: 60},
		{name: "R16 a fraction is rounded up", give: []string{"1.2"}, want: 2},
		{name: "R16 the smallest fraction is rounded up", give: []string{"2.00000000000000000000000001"}, want: 3},
		{name: "R16 a fraction of nothing", give: []string{"3.000"}, want: 3},
		{name: "R16 less than a second", give: []string{"0.1"}, want: 1},
		{name: "H2 more than a duration holds", give: []string{"9223372037"}, want: MaxGuidanceSeconds},
		{name: "H2 40 digits", give: []string{strings.Repeat("9", 40)}, want: MaxGuidanceSeconds},
		{name: "H2 40 digits and a fraction", give: []string{strings.Repeat("9", 40) + ".9"}, want: MaxGuidanceSeconds},
		{name: "H2 the largest int64", give: []string{"9223372036854775807.5"}, want: MaxGuidanceSeconds},
		{name: "H4 negative", give: []string{"-5"}, want: -1, rejected: wire.GuidanceNegative},
		{name: "R16 negative zero", give: []string{"-0"}, want: -1, rejected: wire.GuidanceNegative},
		{name: "R16 zero", give: []string{"0"}, want: -1, rejected: wire.GuidanceZero},
		{name: "R16 zero with a fraction", give: []string{"0.00"}, want: -1, rejected: wire.GuidanceZero},
		{name: "R16 NaN", give: []string{"NaN"}, want: -1, rejected: wire.GuidanceNotFinite},
		{name: "R16 infinity", give: []string{"+Inf"}, want: -1, rejected: wire.GuidanceNotFinite},
		{name: "R16 minus infinity", give: []string{"-Infinity"}, want: -1, rejected: wire.GuidanceNotFinite},
		{name: "R16 a word", give: []string{"soon"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 a unit", give: []string{"5s"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 a plus sign", give: []string{"+5"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 an exponent", give: []string{"1e3"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 hexadecimal", give: []string{"0x10"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 no digit before the point", give: []string{".5"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 no digit after the point", give: []string{"5."}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 digits of another script", give: []string{"５"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 empty", give: []string{""}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 the largest of a list", give: []string{"5, 30, 10"}, want: 30},
		{name: "R16 the largest of repeated headers", give: []string{"30", "5"}, want: 30},
		{name: "R16 the valid one of a list", give: []string{"soon, -1, 7"}, want: 7},
		{name: "R16 the first reason of a list", give: []string{"-1, soon"}, want: -1, rejected: wire.GuidanceNegative},
		{name: "R16 empty elements of a list", give: []string{", 7,"}, want: 7},
		{name: "R16 a date as RFC 9110 prefers", give: []string{"Thu, 15 Jan 2026 12:02:00 GMT"}, want: 120},
		{name: "R16 a date as RFC 850 had it", give: []string{"Thursday, 15-Jan-26 12:02:00 GMT"}, want: 120},
		{name: "R16 a date as asctime writes it", give: []string{"Thu Jan 15 12:02:00 2026"}, want: 120},
		{name: "R16 asctime with one digit", give: []string{"Sun Feb  1 12:00:00 2026"}, want: 17 * 86400},
		{name: "R16 RFC 850, a year that is not long ago", give: []string{"Wednesday, 15-Jan-75 12:00:00 GMT"}, want: MaxGuidanceSeconds / 100 * 49, rejected: "roughly"},
		{name: "R16 RFC 850, a year of the last century", give: []string{"Saturday, 15-Jan-77 12:00:00 GMT"}, want: -1, rejected: wire.GuidancePast},
		{name: "R16 a list of a number and a date", give: []string{"30, Thu, 15 Jan 2026 12:02:00 GMT"}, want: 120},
		{name: "R16 a list of a date and a number", give: []string{"Thu, 15 Jan 2026 12:02:00 GMT, 300"}, want: 300},
		{name: "H1 a date in the past", give: []string{"Wed, 21 Oct 2015 07:28:00 GMT"}, want: -1, rejected: wire.GuidancePast},
		{name: "R16 a date that is now", give: []string{nowDate}, want: -1, rejected: wire.GuidanceZero},
		{name: "R16 a date in another zone", give: []string{"Thu, 15 Jan 2026 12:02:00 CET"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 a date that is none", give: []string{"Thu, 35 Jan 2026 12:02:00 GMT"}, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R16 a date far away", give: []string{"Thu, 15 Jan 9999 12:02:00 GMT"}, want: MaxGuidanceSeconds},
		{
			name: "R16 measured against the answer's own date, whatever the clock here says",
			give: []string{"Thu, 15 Jan 2026 12:02:00 GMT"}, date: nowDate, at: now.Add(-9 * time.Hour), want: 120,
		},
		{
			name: "R16 measured against the clock here where the answer's date cannot be read",
			give: []string{"Thu, 15 Jan 2026 12:02:00 GMT"}, date: "yesterday", want: 120,
		},
		{
			name: "R16 rounded up from a clock that is between two seconds",
			give: []string{"Thu, 15 Jan 2026 12:02:00 GMT"}, at: now.Add(-time.Millisecond), want: 121,
		},
		{
			name: "R16 half a second is a second", give: []string{"Thu, 15 Jan 2026 12:00:00 GMT"},
			at: now.Add(-500 * time.Millisecond), want: 1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			at := test.at
			if at.IsZero() {
				at = now
			}
			seconds, rejected := ParseRetryAfter(test.give, test.date, at)
			if test.rejected == "roughly" {
				require.InDelta(t, float64(test.want), float64(*seconds), 86400*30)
				return
			}
			require.Equal(t, test.rejected, rejected)
			if test.want < 0 {
				require.Nil(t, seconds)
				return
			}
			require.NotNil(t, seconds)
			require.Equal(t, test.want, *seconds)
		})
	}
}

func TestParseRetryAfterRoundsAClockUpNotDown(t *testing.T) {
	t.Parallel()
	at := now.Add(-time.Millisecond) // 11:59:59.999
	seconds, _ := ParseRetryAfter([]string{"Thu, 15 Jan 2026 12:02:00 GMT"}, "", at)
	require.False(t, at.Add(time.Duration(*seconds)*time.Second).Before(now.Add(2*time.Minute)), "never earlier than asked")
}

// H5, H7, R17: hints in their units; zero is a hint.
func TestParseHint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		give     any
		unit     string
		want     int64 // -1: none
		rejected string
	}{
		{name: "H5 a header of zero", give: "0", unit: unitMS, want: 0},
		{name: "H7 milliseconds", give: number("1500"), unit: unitMS, want: 2},
		{name: "H7 seconds", give: number("1500"), unit: unitS, want: 1500},
		{name: "R17 a millisecond is rounded up", give: "1", unit: unitMS, want: 1},
		{name: "R17 a fraction of milliseconds", give: number("1000.5"), unit: unitMS, want: 2},
		{name: "R17 an exponent", give: number("1e1"), unit: unitS, want: 10},
		{name: "R17 beyond every number", give: number("1e999"), unit: unitS, want: MaxGuidanceSeconds},
		{name: "R17 40 digits", give: number(strings.Repeat("7", 40)), unit: unitMS, want: MaxGuidanceSeconds},
		{name: "R17 negative", give: number("-1"), unit: unitS, want: -1, rejected: wire.GuidanceNegative},
		{name: "R17 beyond every number, and negative", give: number("-1e999"), unit: unitS, want: -1, rejected: wire.GuidanceNegative},
		{name: "R17 less than nothing by next to nothing", give: number("-1e-400"), unit: unitS, want: -1, rejected: wire.GuidanceNegative},
		{name: "R17 negative with an exponent", give: number("-1e1"), unit: unitS, want: -1, rejected: wire.GuidanceNegative},
		{name: "R17 a word", give: "soon", unit: unitS, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R17 NaN", give: "NaN", unit: unitS, want: -1, rejected: wire.GuidanceNotFinite},
		{name: "R17 true", give: true, unit: unitS, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R17 an object", give: map[string]any{}, unit: unitS, want: -1, rejected: wire.GuidanceUnparsable},
		{name: "R17 an estimated completion", give: number("1768478460"), unit: formatUnixS, want: 60},
		{name: "R17 one that is now", give: number("1768478400"), unit: formatUnixS, want: 0},
		{name: "R17 one that is over", give: number("1768478399"), unit: formatUnixS, want: -1, rejected: wire.GuidancePast},
		{name: "R17 one in RFC 3339", give: "2026-01-15T13:01:00+01:00", unit: formatRFC3339, want: 60},
		{name: "R17 one outside the years that times have", give: number("1"), unit: formatUnixS, want: -1, rejected: wire.GuidanceUnparsable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seconds, rejected := parseHint(test.give, test.unit, now)
			require.Equal(t, test.rejected, rejected)
			if test.want < 0 {
				require.Nil(t, seconds)
				return
			}
			require.NotNil(t, seconds)
			require.Equal(t, test.want, *seconds)
		})
	}
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		give   any
		format string
		zone   string
		want   string // empty: malformed
	}{
		{name: "R8 unix seconds", give: number("1790000000"), format: formatUnixS, want: "2026-09-21T14:13:20Z"},
		{name: "R8 unix seconds with a fraction", give: number("1790000000.5"), format: formatUnixS, want: "2026-09-21T14:13:20.5Z"},
		{name: "R8 unix milliseconds", give: number("1790000000000"), format: formatUnixMS, want: "2026-09-21T14:13:20Z"},
		{name: "R8 milliseconds declared as seconds", give: number("1790000000000"), format: formatUnixS},
		{name: "R8 seconds declared as milliseconds", give: number("1790000000"), format: formatUnixMS},
		{name: "R8 seconds in a text", give: "1790000000", format: formatUnixSString, want: "2026-09-21T14:13:20Z"},
		{name: "R8 a text where a number is declared", give: "1790000000", format: formatUnixS},
		{name: "R8 a number where a text is declared", give: number("1790000000"), format: formatUnixSString},
		{name: "R8 RFC 3339", give: "2026-01-15T12:00:00.25+02:00", format: formatRFC3339, want: "2026-01-15T10:00:00.25Z"},
		{name: "R8 without a zone", give: "2026-01-15T12:00:00", format: formatRFC3339},
		{name: "R8 without a zone, given by the table", give: "2026-01-15T12:00:00.5", format: formatRFC3339, zone: "+02:00", want: "2026-01-15T10:00:00.5Z"},
		{name: "R8 with a zone of its own", give: "2026-01-15T12:00:00Z", format: formatRFC3339, zone: "+02:00", want: "2026-01-15T12:00:00Z"},
		{name: "R8 RFC 3339 in lower case", give: "2026-01-15t12:00:00z", format: formatRFC3339, want: "2026-01-15T12:00:00Z"},
		{name: "R8 in lower case without a zone, given by the table", give: "2026-01-15t12:00:00", format: formatRFC3339, zone: "UTC", want: "2026-01-15T12:00:00Z"},
		{name: "R8 an hour of one digit", give: "2026-01-15T1:00:00Z", format: formatRFC3339},
		{name: "R8 an hour of one digit, zone given by the table", give: "2026-01-15T1:00:00", format: formatRFC3339, zone: "UTC"},
		{name: "R8 a comma before the fraction", give: "2026-01-15T12:00:00,25Z", format: formatRFC3339},
		{name: "R8 a space for the T", give: "2026-01-15 12:00:00Z", format: formatRFC3339},
		{name: "R8 an offset that is none", give: "2026-01-15T12:00:00+24:00", format: formatRFC3339},
		{name: "R8 an offset without its colon", give: "2026-01-15T12:00:00+0200", format: formatRFC3339},
		{name: "R8 a day that is none", give: "2026-02-30T12:00:00Z", format: formatRFC3339},
		{name: "R8 hexadecimal seconds in a text", give: "0x6A9F4C00p0", format: formatUnixSString},
		{name: "R8 seconds in a text with an exponent", give: "1.79e9", format: formatUnixSString},
		{name: "R8 infinity in a text", give: "+Inf", format: formatUnixSString},
		{name: "R8 an HTTP date", give: nowDate, format: formatHTTPDate, want: "2026-01-15T12:00:00Z"},
		{name: "R8 a date of mail", give: "Thu, 15 Jan 2026 11:59:30 +0200", format: formatRFC2822, want: "2026-01-15T09:59:30Z"},
		{name: "R8 a date of mail without its weekday", give: "5 Jan 2026 11:59 GMT", format: formatRFC2822, want: "2026-01-05T11:59:00Z"},
		{name: "R8 a date of mail in a zone of letters", give: "Thu, 15 Jan 2026 11:59:30 EST", format: formatRFC2822},
		{name: "R8 a date of mail without a zone", give: "Thu, 15 Jan 2026 11:59:30", format: formatRFC2822},
		{name: "R8 another date", give: "2026-01-15T11:59:30Z", format: formatRFC2822},
		{name: "R8 the last moment of 1999", give: "1999-12-31T23:59:59Z", format: formatRFC3339},
		{name: "R8 the first moment of 2000", give: "2000-01-01T00:00:00Z", format: formatRFC3339, want: "2000-01-01T00:00:00Z"},
		{name: "R8 the last moment of 2100", give: "2100-12-31T23:59:59Z", format: formatRFC3339, want: "2100-12-31T23:59:59Z"},
		{name: "R8 the first moment of 2101", give: "2101-01-01T00:00:00Z", format: formatRFC3339},
		{name: "R8 beyond every number", give: number("1e999"), format: formatUnixS},
		{name: "R8 NaN", give: "NaN", format: formatUnixSString},
		{name: "R8 a list", give: []any{}, format: formatUnixS},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			zone, _ := parseZone(test.zone)
			at, err := parseMoment(test.give, test.format, zone, now)
			if test.want == "" {
				require.ErrorIs(t, err, errMoment)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, at.Format(time.RFC3339Nano))
		})
	}
}
