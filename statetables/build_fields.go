package statetables

import (
	"fmt"
	"maps"
	"slices"
)

// buildFields compiles what is read besides the state.
func (b *builder) buildFields() {
	b.table.jobID = b.expression("job_id", b.doc.JobID, wantsText)
	b.table.errorCode = b.expression("error.code", b.doc.Error.Code, wantsValue)
	b.table.errorMessage = b.expression("error.message", b.doc.Error.Message, wantsValue)
	b.table.progress = b.expression("progress", b.doc.Progress, wantsValue)
	b.table.requestID = b.expression("request_id", b.doc.RequestID, wantsText)
	b.table.nextURL = b.expression("next_url", b.doc.NextURL, wantsText)
	b.table.updatedAt = b.moment("updated_at", b.doc.UpdatedAt)
	b.table.expiresAt = b.moment("expires_at", b.doc.ExpiresAt)
	b.buildResult()
	b.buildHints()
}

func (b *builder) buildResult() {
	for _, name := range slices.Sorted(maps.Keys(b.doc.Result)) {
		path, written := "result."+name, b.doc.Result[name]
		if !nameShape.MatchString(name) {
			b.fail(path, "result: %q: write a lower-case name like output_file", name)
		}
		if (written.Read == "") == (written.URL == "") {
			b.fail(path, "%s: write where it stands (%s: body.url), or the URL it is derived from (%s: {url: https://host/{job_id}/content})", path, name, name)
			continue
		}
		found := reference{name: name, read: b.expression(path, written.Read, wantsValue), renewable: b.renewable(path, written)}
		if written.URL != "" {
			found.url = b.urlTemplate(path+".url", written.URL, b.table.reach.polls)
		}
		b.table.result = append(b.table.result, found)
	}
}

// renewable says whether asking again gives another reference.
func (b *builder) renewable(path string, written RefDoc) bool {
	if written.Renewable == nil {
		return false
	}
	b.cite(path+".renewable", written.Renewable.Source)
	if written.URL != "" {
		b.fail(path+".renewable", "%s: a derived URL is the same each time; remove renewable", path)
	}
	return true
}

var (
	formats = []string{formatUnixS, formatUnixMS, formatUnixSString, formatRFC3339, formatRFC2822, formatHTTPDate}
	units   = append([]string{unitS, unitMS}, formats...)
)

func (b *builder) moment(path string, written *TimeDoc) *moment {
	if written == nil {
		return nil
	}
	if written.Read == "" {
		b.fail(path, "%s has no read; write where it stands, like read: body.%s", path, path)
	}
	if !slices.Contains(formats, written.Format) {
		b.fail(path, "%s: format %q; a time has its format: write one of %s", path, written.Format, list(formats))
	}
	found := &moment{read: b.expression(path+".read", written.Read, wantsText), format: written.Format}
	if written.Zone == "" {
		return found
	}
	zone, ok := parseZone(written.Zone)
	if !ok || written.Format != formatRFC3339 {
		b.fail(path, "%s: zone %q; write UTC or an offset like +02:00, and only with format rfc3339", path, written.Zone)
	}
	found.zone = zone
	return found
}

func (b *builder) buildHints() {
	for i, written := range b.doc.Hints {
		path := fmt.Sprintf("hints[%d]", i)
		if written.Read == "" {
			b.fail(path, `%s has no read; write where it stands, like read: header["retry-after-ms"]`, path)
		}
		if !slices.Contains(units, written.Unit) {
			b.fail(path, "%s: unit %q; a hint has its unit: write one of %s", path, written.Unit, list(units))
		}
		b.optional(path+".at_most", written.AtMost, 1, 604_800)
		b.table.hints = append(b.table.hints, hint{
			read: b.expression(path+".read", written.Read, wantsText), unit: written.Unit, atMost: written.AtMost,
		})
	}
}

func (b *builder) buildSchedule() {
	written := b.doc.Schedule
	b.optional("schedule.initial_delay_seconds", written.InitialDelaySeconds, 0, 604_800)
	b.optional("schedule.base_delay_seconds", written.BaseDelaySeconds, 1, 86_400)
	b.optional("schedule.max_delay_seconds", written.MaxDelaySeconds, 1, 86_400)
	b.optional("schedule.min_delay_seconds", written.MinDelaySeconds, 1, 86_400)
	b.optional("schedule.request_timeout_seconds", written.RequestTimeoutSeconds, 1, 300)
	if base, most := written.BaseDelaySeconds, written.MaxDelaySeconds; base != nil && most != nil && *base > *most {
		b.fail("schedule.max_delay_seconds", "schedule: max_delay_seconds %d is less than base_delay_seconds %d", *most, *base)
	}
	advice := &b.table.advice
	advice.Schedule.InitialDelaySeconds = written.InitialDelaySeconds
	advice.Schedule.BaseDelaySeconds = written.BaseDelaySeconds
	advice.Schedule.MaxDelaySeconds = written.MaxDelaySeconds
	advice.Schedule.MinDelaySeconds = written.MinDelaySeconds
	advice.Schedule.RequestTimeoutSeconds = written.RequestTimeoutSeconds
	b.buildExpected(written.Expected)
	advice.FloorSeconds = b.seconds("schedule.floor", written.Floor, 86_400)
	advice.CapSeconds = b.seconds("schedule.cap", written.Cap, 86_400)
	advice.RetentionSeconds = b.retention()
	if advice.CapSeconds != 0 && advice.FloorSeconds > advice.CapSeconds {
		b.fail("schedule.cap", "schedule: cap %d s is below floor %d s, so that no delay is allowed", advice.CapSeconds, advice.FloorSeconds)
	}
	for i, limit := range b.doc.RateLimits {
		b.cite(fmt.Sprintf("rate_limits[%d]", i), limit.Source)
	}
}

// buildExpected takes over durations that somebody published; nothing here is a guess.
func (b *builder) buildExpected(written *ExpectedDoc) {
	if written == nil {
		return
	}
	b.cite("schedule.expected", written.Source)
	b.between("schedule.expected.p50_seconds", written.P50Seconds, 1, 604_800)
	b.between("schedule.expected.p90_seconds", written.P90Seconds, 1, 604_800)
	if written.P50Seconds > written.P90Seconds {
		b.fail("schedule.expected", "schedule: expected p50_seconds %d is more than p90_seconds %d", written.P50Seconds, written.P90Seconds)
	}
	b.table.advice.Schedule.ExpectedP50Seconds = &written.P50Seconds
	b.table.advice.Schedule.ExpectedP90Seconds = &written.P90Seconds
}

func (b *builder) optional(path string, value *int, least, most int) {
	if value != nil {
		b.between(path, *value, least, most)
	}
}

// seconds reads a number of seconds that is the provider's word; 0 where nothing is written.
func (b *builder) seconds(path string, written *SecondsDoc, most int) int {
	if written == nil {
		return 0
	}
	b.cite(path, written.Source)
	b.between(path+".seconds", written.Seconds, 1, most)
	return written.Seconds
}

// retention is the time from the submission within which a job can be read. One that counts from the job's end, or from a
// moment that nobody tells, is for people only: no deadline can be held against it.
func (b *builder) retention() int {
	written := b.doc.Retention
	if written == nil {
		return 0
	}
	b.cite("retention", written.Source)
	b.between("retention.seconds", written.Seconds, 1, 10*366*86_400)
	switch written.CountsFrom {
	case "submission":
		return written.Seconds
	case "end", "unknown":
	case "":
		b.fail("retention", "retention: counts_from is missing; write submission, end (of the job), or unknown where the source does not say")
	default:
		b.fail("retention.counts_from", "retention: counts_from %q; write submission, end (of the job), or unknown where the source does not say", written.CountsFrom)
	}
	return 0
}
