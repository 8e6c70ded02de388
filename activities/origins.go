package activities

import (
	"cmp"
	"fmt"
	"time"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/internal/yamlfile"
)

// DefaultMaxHoldSeconds is the default of OriginLimits.MaxHoldSeconds.
const DefaultMaxHoldSeconds = 600

// The largest values of OriginLimits.
const (
	maxRequestsPerSecond = 10_000
	maxConcurrent        = 10_000
	maxHoldSeconds       = 86_400
)

// OriginLimits bound what one worker process sends to one origin with one credential. Requests beyond them are held back:
// nothing is sent, no budget is used, and the server repeats them later. Several processes together may send the sum of their
// limits.
type OriginLimits struct {
	// RequestsPerSecond is how many requests may be sent per second, evenly spaced. 0.001 to 10,000. Nil means no limit.
	RequestsPerSecond *float64 `yaml:"requests_per_second"`
	// MaxConcurrent is how many requests may be in flight at once. 1 to 10,000. Nil means no limit.
	MaxConcurrent *int `yaml:"max_concurrent"`
	// MaxHoldSeconds is how long an answer to one wait with 429, or with 503 and Retry-After, may hold back the requests of the others,
	// 0 to 86,400; 0 holds back none. After that, one request is sent and the others wait for its answer. Nil means
	// DefaultMaxHoldSeconds.
	MaxHoldSeconds *int `yaml:"max_hold_seconds"`
}

// Origins are the limits of a worker on the requests to each origin. As a file:
//
//	default: {max_hold_seconds: 300}
//	origins:
//	  "https://api.github.com": {requests_per_second: 5, max_concurrent: 10}
//
// An origin inherits the limits that it does not set from default. The zero value limits neither rate nor concurrency, and holds
// requests back for at most DefaultMaxHoldSeconds.
type Origins struct {
	Default OriginLimits            `yaml:"default"`
	Origins map[string]OriginLimits `yaml:"origins"`
}

// LoadOrigins reads a file of origins. Unknown fields and values out of range are errors.
func LoadOrigins(path string) (Origins, error) {
	var origins Origins
	if err := yamlfile.Read("origins", path, &origins); err != nil {
		return Origins{}, err
	}
	return origins, origins.Validate()
}

// Validate reports a limit that is out of range, and an origin that is malformed or listed twice.
func (o Origins) Validate() error {
	if err := o.Default.validate("default"); err != nil {
		return err
	}
	_, err := o.byOrigin()
	return err
}

// byOrigin are the limits by the one spelling that an origin has here.
func (o Origins) byOrigin() (map[string]OriginLimits, error) {
	limits := make(map[string]OriginLimits, len(o.Origins))
	for text, own := range o.Origins {
		at, err := parseOrigin(text)
		if err != nil {
			return nil, fmt.Errorf("origins: %w", err)
		}
		if _, twice := limits[at.String()]; twice {
			return nil, fmt.Errorf("origins: %q is listed twice, in two spellings; keep one", at)
		}
		if err := own.validate(at.String()); err != nil {
			return nil, err
		}
		limits[at.String()] = own.over(o.Default)
	}
	return limits, nil
}

func (l OriginLimits) validate(place string) error {
	if rate := l.RequestsPerSecond; rate != nil && !(*rate >= 0.001 && *rate <= maxRequestsPerSecond) {
		return fmt.Errorf("origins: %s: requests_per_second is %v, allowed is 0.001 to %d; leave it out for no rate", place, *rate, maxRequestsPerSecond)
	}
	if most := l.MaxConcurrent; most != nil && (*most < 1 || *most > maxConcurrent) {
		return fmt.Errorf("origins: %s: max_concurrent is %d, allowed is 1 to %d; leave it out for no bound", place, *most, maxConcurrent)
	}
	if most := l.MaxHoldSeconds; most != nil && (*most < 0 || *most > maxHoldSeconds) {
		return fmt.Errorf("origins: %s: max_hold_seconds is %d, allowed is 0 to %d", place, *most, maxHoldSeconds)
	}
	return nil
}

func (l OriginLimits) over(below OriginLimits) OriginLimits {
	return OriginLimits{
		RequestsPerSecond: cmp.Or(l.RequestsPerSecond, below.RequestsPerSecond),
		MaxConcurrent:     cmp.Or(l.MaxConcurrent, below.MaxConcurrent),
		MaxHoldSeconds:    cmp.Or(l.MaxHoldSeconds, below.MaxHoldSeconds),
	}
}

func (l OriginLimits) lane() lanes.Limits {
	hold := DefaultMaxHoldSeconds
	if l.MaxHoldSeconds != nil {
		hold = *l.MaxHoldSeconds
	}
	limits := lanes.Limits{Concurrent: value(l.MaxConcurrent), MaxHold: time.Duration(hold) * time.Second}
	if l.RequestsPerSecond != nil {
		limits.Rate = *l.RequestsPerSecond
	}
	return limits
}

// lanes are those of a worker with these limits, which are valid.
func (o Origins) lanes() *lanes.Set {
	byOrigin, _ := o.byOrigin()
	return lanes.NewSet(func(origin string) lanes.Limits {
		if own, ok := byOrigin[origin]; ok {
			return own.lane()
		}
		return o.Default.lane()
	})
}
