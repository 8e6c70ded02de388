package statetables

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// MaxGuidanceSeconds is what longer guidance is cut to: 100 years, so that adding it to a time cannot overflow.
const MaxGuidanceSeconds = 100 * 365 * 24 * 60 * 60

// ParseRetryAfter reads the values of Retry-After: digits[.digits] seconds, or an HTTP-date in its three forms (RFC
// 9110 10.2.3 and 5.6.7). Seconds is the largest valid value, rounded up and at most MaxGuidanceSeconds; nil where
// there is none. A date is measured against date, the answer's own Date, or against receivedAt where that is missing or
// unreadable. Rejected is a wire.Guidance* word where nothing of what stands there can be followed.
func ParseRetryAfter(values []string, date string, receivedAt time.Time) (seconds *int64, rejected string) {
	base := receivedAt
	if own, ok := parseHTTPDate(date, receivedAt); ok {
		base = own
	}
	for _, value := range values {
		for _, item := range splitGuidance(value) {
			found, word := parseRetryAfterItem(item, base)
			seconds, rejected = largest(seconds, rejected, found, word)
		}
	}
	return seconds, rejected
}

// largest keeps the largest valid value, and the first reason only as long as there is none.
func largest(seconds *int64, rejected string, found *int64, word string) (*int64, string) {
	switch {
	case found != nil && (seconds == nil || *found > *seconds):
		return found, ""
	case seconds != nil || rejected != "":
		return seconds, rejected
	default:
		return nil, word
	}
}

// splitGuidance takes a list apart at its commas, save for the one comma that an HTTP-date has.
func splitGuidance(value string) []string {
	parts := strings.Split(value, ",")
	var items []string
	for i := 0; i < len(parts); i++ {
		item := strings.TrimSpace(parts[i])
		if weekday.MatchString(item) && i+1 < len(parts) {
			i++
			item += ", " + strings.TrimSpace(parts[i])
		}
		if item != "" {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return []string{""} // something stood there, and it says nothing
	}
	return items
}

var weekday = regexp.MustCompile(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*$`)

func parseRetryAfterItem(item string, base time.Time) (*int64, string) {
	if at, ok := parseHTTPDate(item, base); ok {
		return untilDate(at, base)
	}
	found, word := parseSeconds(item, 1)
	if found != nil && *found == 0 {
		return nil, wire.GuidanceZero
	}
	return found, word
}

func untilDate(at, base time.Time) (*int64, string) {
	switch {
	case at.Before(base):
		return nil, wire.GuidancePast
	case at.Equal(base):
		return nil, wire.GuidanceZero
	}
	seconds := at.Unix() - base.Unix()
	if at.Nanosecond() > base.Nanosecond() {
		seconds++
	}
	return new(min(seconds, MaxGuidanceSeconds)), ""
}

// parseSeconds reads digits[.digits], counted in units of which perSecond make a second, and rounds up to seconds.
func parseSeconds(text string, perSecond int64) (*int64, string) {
	shape := amount.FindStringSubmatch(text)
	switch {
	case shape != nil && shape[1] == "-":
		return nil, wire.GuidanceNegative
	case shape != nil:
		return new(roundUp(shape[2], shape[3], perSecond)), ""
	case notFinite.MatchString(text):
		return nil, wire.GuidanceNotFinite
	default:
		return nil, wire.GuidanceUnparsable
	}
}

var (
	amount    = regexp.MustCompile(`^(-?)([0-9]+)(?:\.([0-9]+))?$`)
	notFinite = regexp.MustCompile(`(?i)^[+-]?(?:nan|inf|infinity)$`)
)

func roundUp(whole, fraction string, perSecond int64) int64 {
	count, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		count = math.MaxInt64
	}
	seconds := count / perSecond
	if count%perSecond != 0 || strings.Trim(fraction, "0") != "" {
		seconds = min(seconds, MaxGuidanceSeconds) + 1
	}
	return min(seconds, MaxGuidanceSeconds)
}

// parseHTTPDate reads the three forms of RFC 9110 5.6.7. The two digits of an RFC 850 year mean the year that is not
// more than 50 years after base.
func parseHTTPDate(text string, base time.Time) (time.Time, bool) {
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.ANSIC} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	at, err := time.Parse("Monday, 02-Jan-06 15:04:05 GMT", text)
	if err != nil {
		return time.Time{}, false
	}
	at = at.AddDate(base.Year()/100*100-at.Year()/100*100, 0, 0)
	if at.After(base.AddDate(50, 0, 0)) {
		at = at.AddDate(-100, 0, 0)
	}
	return at.UTC(), true
}
