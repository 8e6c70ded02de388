package statetables

import (
	"cmp"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/jobwait/jobwait/wire"
)

// exampleAt is when the answers of examples were received, unless they say otherwise.
var exampleAt = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// runExamples reads every example of the table and compares.
func (b *builder) runExamples() {
	if len(b.doc.Examples) == 0 {
		b.fail("examples", "examples is missing; write at least one answer and what it must be read as")
	}
	if b.doc.ExampleJob.ID == "" {
		b.fail("example_job", "example_job is missing; write the job that the examples are about: example_job: {id: job_1}")
		return
	}
	if err := b.table.CheckSpec(b.doc.ExampleJob.spec(b.doc.Provider)); err != nil {
		b.fail("example_job", "example_job: %s", err)
		return
	}
	names := map[string]bool{}
	for i := range b.doc.Examples {
		path := fmt.Sprintf("examples[%d]", i)
		if name := b.doc.Examples[i].Name; name == "" || names[name] {
			b.fail(path, "example %q: write a name of its own", name)
		}
		names[b.doc.Examples[i].Name] = true
		b.runExample(path, &b.doc.Examples[i])
	}
}

// exampleTarget is the job of an example, which must be one that a spec could name; that of all examples is checked once.
func (b *builder) exampleTarget(own ExampleJobDoc) (wire.Target, error) {
	spec := own.over(b.doc.ExampleJob).spec(b.doc.Provider)
	if own.isEmpty() {
		return targetOf(spec), nil
	}
	return targetOf(spec), b.table.CheckSpec(spec)
}

func (j ExampleJobDoc) isEmpty() bool {
	return j.ID == "" && j.Account == "" && j.StatusURL == "" && len(j.Params) == 0
}

// over is the job of all examples with what one of them writes of its own.
func (j ExampleJobDoc) over(all ExampleJobDoc) ExampleJobDoc {
	params := maps.Clone(all.Params)
	if params == nil {
		params = map[string]string{}
	}
	maps.Copy(params, j.Params)
	return ExampleJobDoc{
		ID: cmp.Or(j.ID, all.ID), Account: cmp.Or(j.Account, all.Account), Params: params,
		StatusURL: cmp.Or(j.StatusURL, all.StatusURL),
	}
}

func (j ExampleJobDoc) spec(provider string) wire.Spec {
	return wire.Spec{
		Provider: provider, Account: cmp.Or(j.Account, "account"), ProviderJobID: j.ID, Params: j.Params, StatusURL: j.StatusURL,
		CredentialRef: "example",
	}
}

func (b *builder) runExample(path string, written *ExampleDoc) {
	response, context, err := written.Given.answer()
	if err != nil {
		b.fail(path, "example %q: %s", written.Name, err)
		return
	}
	target, err := b.exampleTarget(written.Job)
	if err != nil {
		b.fail(path+".job", "example %q: job: %s", written.Name, err)
		return
	}
	got := b.table.Classify(target, context, response)
	for _, difference := range written.Want.differences(got) {
		b.fail(path, "example %q reads otherwise: %s", written.Name, difference)
	}
}

// answer is the HTTP answer of an example and the context in which it is read.
func (g GivenDoc) answer() (Response, wire.ReadingContext, error) {
	response := Response{Status: 200, Header: map[string][]string{}, ReceivedAt: exampleAt}
	if g.Status != nil {
		response.Status = *g.Status
	}
	for _, name := range slices.Sorted(maps.Keys(g.Headers)) {
		key := textproto.CanonicalMIMEHeaderKey(name)
		response.Header[key] = append(response.Header[key], g.Headers[name])
	}
	var err error
	if response.Body, err = bodyOf(g.Body); err != nil {
		return Response{}, wire.ReadingContext{}, err
	}
	if g.ReceivedAt != "" {
		if response.ReceivedAt, err = time.Parse(time.RFC3339, g.ReceivedAt); err != nil {
			return Response{}, wire.ReadingContext{}, fmt.Errorf("received_at %q is no time like 2026-01-15T12:00:00Z", g.ReceivedAt)
		}
	}
	return response, wire.ReadingContext{
		SubmittedAt: response.ReceivedAt.Add(-time.Duration(g.ElapsedSeconds) * time.Second),
		Answered:    g.Answered, NotFound: g.NotFound, CancelSent: g.AfterCancel,
	}, nil
}

// bodyOf is the body of an example: a text as it stands, anything else as JSON.
func bodyOf(node *yaml.Node) ([]byte, error) {
	if node == nil {
		return nil, nil
	}
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" {
		return []byte(node.Value), nil
	}
	body, err := jsonOf(node, func(node *yaml.Node) (string, error) { return quote(node.Value) })
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return body, nil
}

// differences tells, place by place, what was read and what was wanted.
func (w WantDoc) differences(got wire.Observation) []string {
	job := wire.JobFact{}
	if got.Job != nil {
		job = *got.Job
	}
	d := &differ{}
	d.compare("answer", string(got.Answer), cmp.Or(w.Answer, string(wire.AnswerRead)))
	d.compare("detail", got.Detail, w.Detail)
	d.compare("category", string(job.Category), w.Category)
	d.compare("raw_state", job.RawState, w.RawState)
	d.compare("unproven", list(job.Unproven), list(w.Unproven))
	d.compare("other_job", fmt.Sprint(job.OtherJob), fmt.Sprint(w.OtherJob))
	d.compare("result", pairs(job.Result), pairs(w.Result))
	d.compare("next_url", got.NextStatusURL, w.NextURL)
	d.compare("next_url_rejected", fmt.Sprint(got.NextURLRejected), fmt.Sprint(w.NextURLRejected))
	d.compare("rejected", rejections(got.Guidance), list(w.Rejected))
	w.compareOptional(d, got, job)
	return d.found
}

func (w WantDoc) compareOptional(d *differ, got wire.Observation, job wire.JobFact) {
	if w.Error != nil {
		d.compare("error.code", job.Error.Code, w.Error.Code)
		d.compare("error.message", job.Error.Message, w.Error.Message)
	}
	d.compareText("progress", job.Progress, w.Progress)
	d.compareText("updated_at", stamp(job.UpdatedAt), w.UpdatedAt)
	d.compareText("expires_at", stamp(job.ExpiresAt), w.ExpiresAt)
	d.compareText("request_id", got.ProviderRequestID, w.RequestID)
	if w.Cancellable != nil {
		d.compare("cancellable", truth(job.Cancellable), truth(w.Cancellable))
	}
	d.compareNumber("retry_after_seconds", got.Guidance.RetryAfterSeconds, w.RetryAfter)
	d.compareNumber("hint_seconds", got.Guidance.PollHintSeconds, w.Hint)
}

func truth(value *bool) string {
	if value == nil {
		return "not told"
	}
	return strconv.FormatBool(*value)
}

// differ collects differences.
type differ struct {
	found []string
}

func (d *differ) compare(place, got, want string) {
	if got != want {
		d.found = append(d.found, fmt.Sprintf("%s is %q, the example wants %q", place, got, want))
	}
}

func (d *differ) compareText(place, got string, want *string) {
	if want != nil {
		d.compare(place, got, *want)
	}
}

func (d *differ) compareNumber(place string, got *int64, want *int) {
	if want == nil {
		return
	}
	read := "none"
	if got != nil {
		read = fmt.Sprint(*got)
	}
	d.compare(place, read, fmt.Sprint(*want))
}

func pairs(of map[string]string) string {
	var written []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		written = append(written, name+"="+of[name])
	}
	return list(written)
}

func rejections(guidance wire.Guidance) string {
	var words []string
	for _, rejected := range guidance.Rejected {
		words = append(words, rejected.Detail)
	}
	return list(words)
}

func stamp(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Format(time.RFC3339)
}
