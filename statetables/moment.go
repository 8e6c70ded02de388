package statetables

import (
	"errors"
	"net/mail"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// errMoment is a time that is not what the table says it is.
var errMoment = errors.New("timestamp")

var (
	earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Formats of a time in an answer.
const (
	formatUnixS       = "unix_s"
	formatUnixMS      = "unix_ms"
	formatUnixSString = "unix_s_string"
	formatRFC3339     = "rfc3339"
	formatRFC2822     = "rfc2822"
	formatHTTPDate    = "http_date"
)

// parseMoment reads a time in the format its table declares. Zone is that of an RFC 3339 text without one; nil: there must be one.
func parseMoment(value any, format string, zone *time.Location, base time.Time) (time.Time, error) {
	at, ok := readMoment(value, format, zone, base)
	if !ok || at.Before(earliest) || !at.Before(latest) {
		return time.Time{}, errMoment
	}
	return at.UTC(), nil
}

func readMoment(value any, format string, zone *time.Location, base time.Time) (time.Time, bool) {
	switch text := value.(type) {
	case number:
		return readUnixNumber(string(text), format)
	case string:
		return readMomentText(text, format, zone, base)
	default:
		return time.Time{}, false
	}
}

func readUnixNumber(text, format string) (time.Time, bool) {
	switch format {
	case formatUnixS:
		return unix(text, time.Second)
	case formatUnixMS:
		return unix(text, time.Millisecond)
	default:
		return time.Time{}, false
	}
}

func readMomentText(text, format string, zone *time.Location, base time.Time) (time.Time, bool) {
	switch format {
	case formatUnixSString:
		if !amount.MatchString(text) { // the library reads hexadecimal, exponents and more
			return time.Time{}, false
		}
		return unix(text, time.Second)
	case formatHTTPDate:
		return parseHTTPDate(text, base)
	case formatRFC3339:
		return readRFC3339(text, zone)
	case formatRFC2822:
		return readRFC2822(text)
	default:
		return time.Time{}, false
	}
}

func unix(text string, unit time.Duration) (time.Time, bool) {
	count, err := strconv.ParseFloat(text, 64)
	seconds := count * unit.Seconds()
	if err != nil || seconds < float64(earliest.Unix()) || seconds >= float64(latest.Unix()) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(seconds * 1000)), true
}

// rfc3339 is the form of RFC 3339, where T and Z may be in lower case. The library also reads an hour of one digit and a
// fraction behind a comma.
var rfc3339 = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?$`)

func readRFC3339(text string, zone *time.Location) (time.Time, bool) {
	if !rfc3339.MatchString(text) {
		return time.Time{}, false
	}
	text = strings.ToUpper(text)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, true
	}
	if zone == nil {
		return time.Time{}, false
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05", text, zone)
	return at, err == nil
}

// plainZone ends a date of mail whose zone means the same everywhere. Other letters the library takes for what they are on
// this machine, or for Greenwich.
var plainZone = regexp.MustCompile(`(?:[+-][0-9]{4}|GMT|UTC?)$`)

// readRFC2822 reads a date as mail has it: Thu, 15 Jan 2026 11:59:30 +0000.
func readRFC2822(text string) (time.Time, bool) {
	if !plainZone.MatchString(text) {
		return time.Time{}, false
	}
	at, err := mail.ParseDate(text)
	return at, err == nil
}

// parseZone reads UTC or an offset like +02:00.
func parseZone(text string) (*time.Location, bool) {
	if text == "UTC" {
		return time.UTC, true
	}
	at, err := time.Parse("-07:00", text)
	if err != nil {
		return nil, false
	}
	_, offset := at.Zone()
	return time.FixedZone(text, offset), true
}

// Units of a hint: two of a duration, the others of the moment at which to ask again.
const (
	unitS  = "s"
	unitMS = "ms"
)

// parseHint reads a poll hint in its unit as seconds from base, rounded up; the word says why it cannot be followed. Zero is a hint.
func parseHint(value any, unit string, base time.Time) (*int64, string) {
	switch unit {
	case unitS:
		return parseDuration(value, 1)
	case unitMS:
		return parseDuration(value, 1000)
	}
	at, err := parseMoment(value, unit, nil, base)
	if err != nil {
		return nil, wire.GuidanceUnparsable
	}
	seconds, word := untilDate(at, base)
	if word == wire.GuidanceZero {
		return new(int64(0)), ""
	}
	return seconds, word
}

func parseDuration(value any, perSecond int64) (*int64, string) {
	text, ok := textOf(value)
	if !ok {
		return nil, wire.GuidanceUnparsable
	}
	if count, isNumber := value.(number); isNumber {
		text = withoutExponent(string(count))
	}
	return parseSeconds(text, perSecond)
}

// withoutExponent writes a JSON number like 1e3 out, as far as guidance can be; a larger one is beyond every limit anyway.
func withoutExponent(text string) string {
	if amount.MatchString(text) {
		return text
	}
	value, _ := strconv.ParseFloat(text, 64) // one beyond every number is infinite
	most := float64(MaxGuidanceSeconds * 1000)
	return strconv.FormatFloat(max(min(value, most), -most), 'f', -1, 64)
}
