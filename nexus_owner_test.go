package jobwait

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/jobwait/jobwait/wire"
)

// failing is a server that answers every question about a workflow with an error.
type failing struct {
	client.Client
	err error
}

func (f failing) DescribeWorkflow(context.Context, string, string) (*client.WorkflowExecutionDescription, error) {
	return nil, f.err
}

func (f failing) GetWorkflowHistory(context.Context, string, string, bool, enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	return f
}

func (failing) HasNext() bool                            { return true }
func (f failing) Next() (*historypb.HistoryEvent, error) { return nil, f.err }

// A refusal is for good. What the server cannot tell for the moment is none.
func TestNexusOwnerThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		unread bool
	}{
		"unavailable": {serviceerror.NewUnavailable("restarting"), true},
		"too often":   {serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "later"), true},
		"too slow":    {context.DeadlineExceeded, true},
		"gone":        {serviceerror.NewNotFound("after its retention"), false},
		"sealed":      {errors.New("the payload cannot be opened"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, spec := range []any{
				wire.Spec{OperationID: "op", Provider: "p", Account: "a", ProviderJobID: "j"},
				wire.SubmitSpec{SubmissionID: "op", Provider: "p", Account: "a"},
			} {
				data, err := json.Marshal(spec)
				require.NoError(t, err)
				read := readAwait
				if _, submits := spec.(wire.SubmitSpec); submits {
					read = readSubmit
				}
				call, err := read(data)
				require.NoError(t, err)
				_, same, why := call.owner(t.Context(), failing{err: test.err}, "run")
				require.False(t, same)
				require.Equal(t, test.unread, errors.Is(why, errUnread), "%v", why)
			}
		})
	}
}

// R47: what is waited for, and what is accepted as its end, makes an operation what it is; how long and how often does not.
func TestSameJob(t *testing.T) {
	t.Parallel()
	spec := func(change func(*wire.Spec)) wire.Spec {
		made := wire.Spec{Params: map[string]string{"region": "eu"}, StatusURL: "https://api.example.com/1", ExpectedStates: []string{"a", "b"}}
		change(&made)
		return made
	}
	for name, test := range map[string]struct {
		change func(*wire.Spec)
		same   bool
	}{
		"alike":          {func(*wire.Spec) {}, true},
		"more requests":  {func(s *wire.Spec) { s.MaxStatusRequests = 7 }, true},
		"another order":  {func(s *wire.Spec) { s.ExpectedStates = []string{"b", "a"} }, true},
		"another region": {func(s *wire.Spec) { s.Params = map[string]string{"region": "us"} }, false},
		"another URL":    {func(s *wire.Spec) { s.StatusURL = "https://api.example.com/2" }, false},
		"any state":      {func(s *wire.Spec) { s.ExpectedStates = nil }, false},
		"partial too":    {func(s *wire.Spec) { s.AcceptPartial = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.same, sameJob(spec(func(*wire.Spec) {}), spec(test.change)))
		})
	}
}

// What a caller puts around its input reaches no history.
func TestNexusInputIsBare(t *testing.T) {
	t.Parallel()
	given := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/plain"), "note": make([]byte, 1<<20)}, Data: []byte(`{}`)}
	require.Equal(t, &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`{}`)}, bare(converter.NewRawValue(given)).Payload())
	require.Empty(t, bare(converter.RawValue{}).Payload().GetData())
}
