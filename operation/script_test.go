package operation_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// script is a parsed file of testdata, see testdata/README.md.
type script struct {
	spec map[string]any
	// submission is set where the script begins with a submission.
	submission *submissionScript
	known      operation.Knowledge
	reset      string
	answers    []planned[wire.PollResult]
	cancels    []planned[wire.CancelResult]
	acts       []act
	down       []span
	notice     func(wire.Notification) (string, time.Duration)
	expects    []expect
	// keys are trusted when the wait begins, trusted from the n-th opening on; no entry: nobody can say.
	keys     []wire.DecisionKey
	approval wire.ApprovalRule
	trusted  map[int][]wire.DecisionKey
	// holdsBack lets requests be held back.
	holdsBack bool
	// older is a wait that was prepared before the snapshot said by which of two rules it goes.
	older bool
}

// planned is an answer that is given so many times; endless where left is negative.
type planned[T any] struct {
	left    int
	latency time.Duration
	result  T
	bare    bool          // gives no times of sending and receiving
	held    time.Duration // how long the request is held back before it leaves, or is given up
}

// act is what a person does: at a time from the start, so long after the present escalation opened (asked), or in the same
// moment as the act before (and).
type act struct {
	when  string
	delay time.Duration
	line  line
}

// line is one line of a script: words, and words with a value.
type line struct {
	number int
	text   string
	words  []string
	values map[string]string
}

var token = regexp.MustCompile(`(?:[^\s"]|"[^"]*")+`)

func parseLine(number int, text string) line {
	l := line{number: number, text: text, values: map[string]string{}}
	if before, raw, ok := strings.Cut(text, " raw="); ok {
		text, l.values["raw"] = before, raw // as it stands, to the end of the line
	}
	for _, word := range token.FindAllString(text, -1) {
		word = strings.ReplaceAll(word, `"`, "")
		if name, value, ok := strings.Cut(word, "="); ok && len(l.words) > 0 {
			l.values[name] = value
			continue
		}
		l.words = append(l.words, word)
	}
	return l
}

// rest is the line without its first words.
func (l line) rest(n int) line {
	l.words = l.words[n:]
	return l
}

func (l line) word(i int) string {
	if i < len(l.words) {
		return l.words[i]
	}
	return ""
}

func parseScript(t *testing.T, text string) *script {
	t.Helper()
	s := &script{
		spec: map[string]any{
			"operation_id": "export-1", "provider": "demo-export", "account": "acct-42", "provider_job_id": "exp_71c",
			"credential_ref": "demo", "deadline_at": start.Add(40 * time.Minute), "max_status_requests": 12,
			"max_transport_failures": 3,
		},
		known: operation.Knowledge{Table: wire.TableFacts{Digest: "sha256:table"}},
	}
	for i, row := range strings.Split(text, "\n") {
		if row = strings.TrimSpace(row); row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		s.add(t, parseLine(i+1, row))
	}
	return s
}

func (s *script) add(t *testing.T, l line) {
	t.Helper()
	switch l.word(0) {
	case "submit":
		s.addSubmission(t, l)
	case "replaces":
		s.addPredecessor(l)
	case "submit-answer":
		s.submission.answers = append(s.submission.answers, plannedSubmit(t, l.rest(1)))
	case "wait-ends":
		s.submission.ends = append(s.submission.ends, plannedEnd(t, l.rest(1)))
	case "spec":
		s.addSpec(t, l)
	case "table":
		s.addTable(t, l)
	case "reset":
		s.reset = l.word(1)
	case "tell":
		s.known.TellDecisions = l.word(1) == "decisions"
	case "answer":
		s.answers = append(s.answers, plannedAnswer(t, l.rest(1)))
	case "cancel-answer":
		s.cancels = append(s.cancels, plannedCancel(t, l.rest(1)))
	case "at", "asked":
		s.acts = append(s.acts, act{when: l.word(0), delay: duration(t, l.word(1)), line: l.rest(2)})
	case "and":
		s.acts = append(s.acts, act{when: l.word(0), line: l.rest(1)})
	case "down":
		s.down = append(s.down, span{start.Add(duration(t, l.word(1))), start.Add(duration(t, l.word(2)))})
	case "notify":
		s.addNotify(t, l)
	case "approval":
		s.approval = wire.ApprovalRule(l.word(1))
	case "holds-back":
		s.holdsBack = true
	case "older":
		s.older = true
	case "keys":
		s.keys = keysOf(l)
	case "trust":
		if s.trusted == nil {
			s.trusted = map[int][]wire.DecisionKey{}
		}
		s.trusted[number(t, l.word(1))] = keysOf(l)
	case "expect":
		s.expects = append(s.expects, expect{l.rest(1)})
	default:
		require.FailNow(t, "unknown line", "line %d: %s", l.number, l.text)
	}
}

// addSpec sets fields of the spec: name.name=value, the value as JSON, a time as +40m from the start, else a string.
func (s *script) addSpec(t *testing.T, l line) {
	t.Helper()
	for name, text := range l.values {
		set(s.spec, name, value(t, text))
	}
}

// set sets a field by its path, name.name.
func set(fields map[string]any, name string, to any) {
	path := strings.Split(name, ".")
	for _, part := range path[:len(path)-1] {
		if fields[part] == nil {
			fields[part] = map[string]any{}
		}
		fields = fields[part].(map[string]any)
	}
	fields[path[len(path)-1]] = to
}

func value(t *testing.T, text string) any {
	t.Helper()
	if strings.HasPrefix(text, "+") {
		return start.Add(duration(t, text))
	}
	if names, ok := strings.CutPrefix(text, "["); ok {
		return strings.FieldsFunc(strings.TrimSuffix(names, "]"), func(r rune) bool { return r == ',' })
	}
	var decoded any
	if json.Unmarshal([]byte(text), &decoded) == nil {
		return decoded
	}
	return text
}

func (s *script) addTable(t *testing.T, l line) {
	t.Helper()
	if text, ok := l.values["cancel"]; ok {
		requests, window, _ := strings.Cut(text, "/")
		s.known.Table.Cancel = &wire.CancelFacts{
			ConfirmRequests: number(t, requests), ConfirmSeconds: int(duration(t, window) / time.Second),
			Destructive: slices.Contains(l.words, "destructive"),
		}
		if states := l.values["states"]; states != "" {
			s.known.Table.Cancel.States = strings.Split(states, ",")
		}
	}
	s.known.Table.ConsoleURL = l.values["console"]
	s.known.FloorSeconds = number(t, orZero(l.values["floor"]))
	s.known.CapSeconds = number(t, orZero(l.values["cap"]))
}

func (s *script) addNotify(t *testing.T, l line) {
	t.Helper()
	latency := duration(t, l.word(1))
	s.notice = func(n wire.Notification) (string, time.Duration) {
		if kind := l.values["kind"]; kind != "" && kind != string(n.Kind) {
			return "", time.Second
		}
		return l.values["fails"], latency
	}
}

// plannedAnswer reads "[xN|x*] <code|dns|timeout|...> [state] name=value ...".
func plannedAnswer(t *testing.T, l line) planned[wire.PollResult] {
	t.Helper()
	times, l := repeats(t, l)
	p := planned[wire.PollResult]{left: times, latency: duration(t, cmp.Or(l.values["latency"], "200ms"))}
	held, heldFor := heldBack(t, l)
	p.held = heldFor
	if why, ok := l.values["unsent"]; ok {
		p.result = wire.PollResult{
			Withheld: wire.Withheld{
				NotSent: wire.NotSent(why), Detail: l.values["detail"], RunID: l.values["run"], CredentialVersion: l.values["version"],
				HeldUntil: until(t, l),
			},
			HeldBack: held,
		}
		return p
	}
	seen := observationOf(t, l)
	seen.CredentialRef, seen.CredentialVersion = cmp.Or(l.values["credential"], "demo"), cmp.Or(l.values["version"], "1")
	seen.TableDigest = "sha256:table"
	p.result, p.bare = result(seen), seen.Answer == wire.AnswerTransportFailure
	p.result.HeldBack = held
	return p
}

// heldBack reads "held=40s/3/rate_limited": held back for 40 seconds, three times, the last time because of a 429.
func heldBack(t *testing.T, l line) (*wire.HeldBack, time.Duration) {
	t.Helper()
	parts := strings.Split(l.values["held"], "/")
	if len(parts) != 3 {
		return nil, 0
	}
	return &wire.HeldBack{Times: number(t, parts[1]), Cause: wire.HoldCause(parts[2])}, duration(t, parts[0])
}

func until(t *testing.T, l line) *time.Time {
	t.Helper()
	if l.values["until"] == "" {
		return nil
	}
	return new(start.Add(duration(t, l.values["until"])))
}

func repeats(t *testing.T, l line) (int, line) {
	t.Helper()
	text, ok := strings.CutPrefix(l.word(0), "x")
	switch {
	case !ok:
		return 1, l
	case text == "*":
		return -1, l.rest(1)
	default:
		return number(t, text), l.rest(1)
	}
}

func observationOf(t *testing.T, l line) wire.Observation {
	t.Helper()
	seen := httpFact(l.word(0))
	seen.ProviderRequestID = l.values["request_id"]
	if malformed := l.values["malformed"]; malformed != "" {
		seen.Answer, seen.Detail = wire.AnswerMalformed, malformed
	}
	if len(l.words) > 1 {
		seen.Answer, seen.Job = wire.AnswerRead, jobFact(t, l)
	}
	seen.Guidance = guidance(t, l)
	seen.NextURLRejected = slices.Contains(l.words, "next_url_rejected")
	return seen
}

func httpFact(word string) wire.Observation {
	code, err := strconv.Atoi(word)
	switch {
	case err != nil:
		return failed(wire.AnswerTransportFailure, 0, word)
	case code == 401 || code == 403:
		return failed(wire.AnswerDenied, code, "")
	case code == 404 || code == 410:
		return failed(wire.AnswerNotFound, code, "")
	case code == 429:
		return failed(wire.AnswerRateLimited, code, "")
	case code >= 500:
		return failed(wire.AnswerServerError, code, "")
	case code >= 200 && code < 300:
		return failed(wire.AnswerMalformed, code, "")
	default:
		return failed(wire.AnswerUnexpected, code, "")
	}
}

func jobFact(t *testing.T, l line) *wire.JobFact {
	t.Helper()
	job := read(l.word(1)).Job
	if category := l.values["category"]; category != "" {
		job.Category = wire.Category(category)
	}
	if file := l.values["file"]; file != "" {
		job.Result = map[string]string{"file": file}
	} else if job.Category == wire.CategorySuccess {
		job.Unproven = []string{"result_url"}
	}
	if expires := l.values["expires"]; expires != "" {
		job.ExpiresAt = new(start.Add(duration(t, expires)))
	}
	code, message, _ := strings.Cut(l.values["error"], ":")
	job.Error = wire.ProviderError{Code: code, Message: message}
	job.OtherJob = slices.Contains(l.words, "other_job")
	return job
}

func guidance(t *testing.T, l line) wire.Guidance {
	t.Helper()
	var g wire.Guidance
	if text := l.values["retry_after"]; text != "" {
		g.RetryAfterSeconds = new(int64(number(t, text)))
	}
	if text := l.values["hint"]; text != "" {
		g.PollHintSeconds = new(int64(number(t, text)))
	}
	if detail := l.values["rejected"]; detail != "" {
		g.Rejected = []wire.RejectedGuidance{{Source: wire.DelayProviderRetryAfter, Detail: detail}}
	}
	return g
}

// plannedCancel reads "<code|timeout|confirmed> name=value ...".
func plannedCancel(t *testing.T, l line) planned[wire.CancelResult] {
	t.Helper()
	p := planned[wire.CancelResult]{left: 1, latency: duration(t, cmp.Or(l.values["latency"], "200ms"))}
	p.result = wire.CancelResult{
		Withheld: wire.Withheld{
			NotSent: wire.NotSent(l.values["unsent"]), RunID: l.values["run"], CredentialVersion: l.values["version"], HeldUntil: until(t, l),
		},
		Guidance: guidance(t, l),
	}
	code, err := strconv.Atoi(l.word(0))
	switch {
	case p.result.NotSent != "":
	case l.word(0) == "confirmed":
		p.result.HTTPStatus, p.result.Accepted, p.result.Confirmed = 200, true, true
	case err != nil:
		p.result.Detail = l.word(0)
	default:
		p.result.HTTPStatus, p.result.Accepted = code, code == 202
	}
	return p
}

// shell is a wait that has just begun, with this script's provider and people.
func (s *script) shell(t *testing.T) *shell {
	t.Helper()
	snapshot := s.snapshot(t)
	snapshot.ResetRunID, snapshot.DecisionKeys, snapshot.Approval = s.reset, s.keys, s.approval
	snapshot.HoldBack, snapshot.ConfirmingEndsAtStop, snapshot.FirstCatchesUpSoon = s.holdsBack, !s.older, !s.older
	sh := &shell{
		op: operation.Open(snapshot, firstRun, start, start), now: start, down: s.down, notifier: s.notice,
		trusts: func(n int) []wire.DecisionKey { return s.trusted[n] },
	}
	sh.provider = s.provider(t)
	sh.canceller = func(time.Time, wire.CancelRequest) (wire.CancelResult, time.Duration) {
		next := take(t, &s.cancels, "a cancel request")
		return next.result, next.latency
	}
	sh.submitter, sh.waiter = s.submitter(t), s.waiter(t)
	sh.person = s.people(t)
	return sh
}

// snapshot is what prepare makes of the spec.
func (s *script) snapshot(t *testing.T) wire.Prepared {
	t.Helper()
	data, err := json.Marshal(s.spec)
	require.NoError(t, err)
	if s.submission != nil {
		spec, err := wire.DecodeSubmitSpec(data)
		require.NoError(t, err)
		snapshot, err := operation.PrepareSubmission(spec, start, s.known, s.submission.facts)
		require.NoError(t, err)
		if s.submission.replaced != nil {
			snapshot.Submission.Predecessor = s.submission.replaced
		}
		return snapshot
	}
	spec, err := wire.DecodeSpec(data)
	require.NoError(t, err)
	return prepared(t, spec, s.known)
}

// take is the next of the planned answers to something.
func take[T any](t *testing.T, answers *[]planned[T], what string) planned[T] {
	t.Helper()
	require.NotEmpty(t, *answers, "%s that nobody scripted", what)
	next := &(*answers)[0]
	taken := *next
	if next.left--; next.left == 0 {
		*answers = (*answers)[1:]
	}
	return taken
}

func (s *script) provider(t *testing.T) func(time.Time, wire.PollRequest) (wire.PollResult, time.Duration) {
	t.Helper()
	return func(at time.Time, _ wire.PollRequest) (wire.PollResult, time.Duration) {
		next := take(t, &s.answers, "a status request")
		answered := next.result
		latency := next.held + next.latency
		if answered.Observation != nil {
			seen := *answered.Observation
			seen.SentAt = new(at.Add(next.held))
			if !next.bare {
				seen.ReceivedAt = new(at.Add(latency))
			}
			answered.Observation = &seen
		}
		if answered.HeldBack != nil {
			held := *answered.HeldBack
			held.Since = at
			answered.HeldBack = &held
		}
		return answered, latency
	}
}

// people does one act after the other; those counted from an opening wait for one.
func (s *script) people(t *testing.T) func(*shell) (time.Time, func()) {
	t.Helper()
	acts, before := slices.Clone(s.acts), start
	return func(sh *shell) (time.Time, func()) {
		if len(acts) == 0 {
			return time.Time{}, nil
		}
		next := acts[0]
		at := start.Add(next.delay)
		switch open := sh.op.Escalation(); {
		case next.when == "and":
			at = before
		case next.when == "asked" && open == nil:
			return time.Time{}, nil
		case next.when == "asked":
			at = open.OpenedAt.Add(next.delay)
		}
		return at, func() {
			acts, before = acts[1:], at
			sh.do(t, next.line)
		}
	}
}

// do is one act: "stop", "nudge ...", "request ...", or "decide|extend|cancel <kind> name=value ...". What a complete decision
// needs is filled in; escalation=1 names the first opening, "name=" leaves the field empty, raw=... is sent as it stands.
func (s *shell) do(t *testing.T, l line) {
	t.Helper()
	if l.word(0) == "stop" {
		s.op.StopWaiting()
		return
	}
	if l.word(0) == "nudge" {
		s.nudge(t, l)
		return
	}
	if l.word(0) == "request" {
		s.requestExtension(t, l)
		return
	}
	plain := wire.DecisionKind("")
	fields := map[string]any{}
	if l.word(0) == "decide" {
		fields["kind"] = l.word(1)
	} else {
		plain = wire.DecisionKind(l.word(0))
	}
	s.decisions++
	fields["decision_id"], fields["decided_by"] = "d-"+strconv.Itoa(s.decisions), "ana@example.com"
	fields["comment"] = "looked at the console"
	if open := s.op.Question(); open != nil && (fields["kind"] != "cancel" || open.Kind != wire.EscalationProposal) {
		fields["escalation_id"] = open.ID
	}
	given := maps.Clone(l.values)
	signer, forged := given["sign"], map[string]any{}
	delete(given, "sign")
	for name, text := range l.values {
		if changed, ok := strings.CutPrefix(name, "forged."); ok {
			forged[changed] = value(t, text)
			delete(given, name)
		}
	}
	for name, openings := range map[string][]wire.Escalation{"escalation": s.openings, "proposal": s.proposals} {
		if n, ok := given[name]; ok {
			fields["escalation_id"] = openings[number(t, n)-1].ID
			delete(given, name)
		}
	}
	for name, text := range given {
		set(fields, name, value(t, text))
	}
	if signer != "" {
		sign(t, fields, plain, signer)
	}
	maps.Copy(fields, forged)
	payload, err := json.Marshal(fields)
	require.NoError(t, err)
	if raw, ok := given["raw"]; ok {
		payload = []byte(raw)
	}
	_, _ = s.op.Decide(s.now, payload, plain) // the audit has the refusal
}

// requestExtension is "request name=value ...": a caller asks for more (R42). What a complete request needs is filled in; raw=...
// is sent as it stands.
func (s *shell) requestExtension(t *testing.T, l line) {
	t.Helper()
	s.requests++
	fields := map[string]any{
		"request_id": "r-" + strconv.Itoa(s.requests), "requested_by": "agent-7", "expected_effect": "the last 20 % are exported",
		"seconds": 0, "status_requests": 0,
	}
	for name, text := range l.values {
		fields[name] = value(t, text)
	}
	payload, err := json.Marshal(fields)
	require.NoError(t, err)
	if raw, ok := l.values["raw"]; ok {
		payload = []byte(raw)
	}
	reply, refusal := s.op.RequestExtension(s.now, payload)
	require.NotEqual(t, refusal == nil, reply.ProposalID == "", "a request is answered by a proposal or a refusal")
	if open := s.op.Record().Proposal; open != nil && !slices.ContainsFunc(s.proposals, func(p wire.Escalation) bool { return p.ID == open.ID }) {
		s.proposals = append(s.proposals, open.Escalation)
	}
}

// nudge is "nudge [xN] source=...": so many of them at once; raw=... is sent as it stands.
func (s *shell) nudge(t *testing.T, l line) {
	t.Helper()
	times, _ := repeats(t, l.rest(1))
	payload, err := json.Marshal(l.values)
	require.NoError(t, err)
	if raw, ok := l.values["raw"]; ok {
		payload = []byte(raw)
	}
	for range times {
		s.op.Nudge(s.now, payload)
	}
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(strings.TrimPrefix(text, "+"))
	require.NoError(t, err)
	return d
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func orZero(text string) string { return cmp.Or(text, "0") }
