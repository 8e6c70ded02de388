package conformance_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// R51, R55, R56: every example of a submission, served over real connections, is sent by the real activity, once, with its key
// where the table documents one, and what comes back is read as the example wants.
func TestEverySubmissionByItsActivity(t *testing.T) {
	t.Parallel()
	var read tally
	everyTable(t, func(t *testing.T, known table) {
		t.Helper()
		examples, err := known.file.Submissions()
		require.NoError(t, err)
		if len(examples) == 0 {
			return
		}
		s := newServed(t, known)
		for _, example := range examples {
			submitExample(t, s, known, example)
			read.count(example.Want.Verdict, known)
		}
	})
	read.requireTables(t, map[string]int{"accepted": 65, "refused": 62, "ambiguous": 11, "later": 6})
}

func submitExample(t *testing.T, s *served, known table, example statetables.SubmitExample) {
	t.Helper()
	request := wire.SubmitRequest{
		Target: example.Target, Body: []byte(`{}`), KeyPlace: known.table.KeyPlace(), Generation: 1, TimeoutSeconds: 10,
		NotAfter: example.Response.ReceivedAt.Add(time.Minute),
	}
	if request.KeyPlace != "" {
		request.Key = example.Key
	}
	wanted, err := known.table.SubmitRequest(request.Target, request.Key, request.Body)
	require.NoError(t, err)
	request.Fingerprint, err = known.table.Fingerprint(request.Target, request.Body)
	require.NoError(t, err)
	s.expect(t, waittest.Script(answerOf(example.Response)), []statetables.Request{wanted.Authorize(secretFor(wanted))}, nil)
	var result wire.SubmitResult
	at(t, example.Response.ReceivedAt, func(t *testing.T) {
		t.Helper()
		result = submit(t, s, known, wanted.URL, request)
	})
	require.Empty(t, s.wrong(), example.Name)
	require.Empty(t, result.NotSent, "%s: %s", example.Name, result.Detail)
	require.Empty(t, example.Differences(statetables.SubmissionReading{
		Verdict: result.Verdict, Detail: result.Detail, Job: result.Job, Observation: *result.Observation,
	}), example.Name)
	asked := s.asked()
	require.Len(t, asked, 1, "R2: one request")
	require.Contains(t, asked[0], request.Key, "R55: %s", request.KeyPlace)
	text, err := json.Marshal(result)
	require.NoError(t, err)
	require.NotContains(t, string(text), secret, "R50")
}

func submit(t *testing.T, s *served, known table, address string, request wire.SubmitRequest) wire.SubmitResult {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	s.activities(t, known, address, nil).Register(environment)
	value, err := environment.ExecuteActivity(wire.ActivitySubmit, request)
	require.NoError(t, err)
	var result wire.SubmitResult
	require.NoError(t, value.Get(&result))
	return result
}
