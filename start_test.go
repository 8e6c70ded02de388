package jobwait_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/wire"
)

const workflowID = "jobwait/demo-export/acct%2F42/exp%2071c"

func TestStartClaimsTheJob(t *testing.T) {
	t.Parallel()
	reopened := spec()
	reopened.Reopens = &wire.Reopens{RunID: "r", DecidedBy: "ana", Comment: "again"}
	for name, test := range map[string]struct {
		spec    wire.Spec
		options jobwait.StartOptions
		queue   string
		reuse   enumspb.WorkflowIdReusePolicy
	}{
		"defaults":  {spec(), jobwait.StartOptions{}, "jobwait", enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY},
		"own queue": {spec(), jobwait.StartOptions{TaskQueue: "mine"}, "mine", enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY},
		"reopened":  {reopened, jobwait.StartOptions{}, "jobwait", enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, run := mocks.NewClient(t), mocks.NewWorkflowRun(t)
			c.On("ExecuteWorkflow", mock.Anything, client.StartWorkflowOptions{
				ID: workflowID, TaskQueue: test.queue, WorkflowIDReusePolicy: test.reuse,
				WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
				WorkflowExecutionErrorWhenAlreadyStarted: true,
				Memo:                                     map[string]any{wire.MemoOperationID: "op-1"},
				StaticSummary:                            "wait for exp 71c at demo-export (op-1)",
			}, wire.WorkflowAwaitJob, test.spec).Return(run, nil)
			got, err := jobwait.Start(t.Context(), c, test.spec, test.options)
			require.NoError(t, err)
			require.Same(t, run, got)
		})
	}
}

// Temporal limits the summary to 400 bytes of JSON, in which some characters take six.
func TestStartKeepsTheSummaryShort(t *testing.T) {
	t.Parallel()
	long := spec()
	long.ProviderJobID, long.OperationID = strings.Repeat("<", 256), strings.Repeat("ä", 256)
	c := mocks.NewClient(t)
	c.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(options client.StartWorkflowOptions) bool {
		encoded := payload(t, options.StaticSummary).GetData()
		return len(encoded) > 150 && len(encoded) <= 200 && utf8.ValidString(options.StaticSummary)
	}), mock.Anything, mock.Anything).Return(mocks.NewWorkflowRun(t), nil)
	_, err := jobwait.Start(t.Context(), c, long, jobwait.StartOptions{})
	require.NoError(t, err)
}

func TestStartSaysWhoOwnsTheJob(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mine, theirs string
		status       enumspb.WorkflowExecutionStatus
		want         jobwait.AlreadyOwnedError
		text         string
	}{
		"same submission": {
			"sha256:1", "sha256:1", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
			jobwait.AlreadyOwnedError{OperationID: "owner", Fingerprint: jobwait.FingerprintSame},
			`the job is owned by operation "owner" (workflow "` + workflowID + `"); its request fingerprint is the same`,
		},
		"another submission": {
			"sha256:1", "sha256:2", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
			jobwait.AlreadyOwnedError{OperationID: "owner", Fingerprint: jobwait.FingerprintDifferent},
			`the job is owned by operation "owner" (workflow "` + workflowID + `"); its request fingerprint is another, so somebody else submitted it`,
		},
		"no fingerprint, ended": {
			"sha256:1", "", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
			jobwait.AlreadyOwnedError{OperationID: "owner", Fingerprint: jobwait.FingerprintUnknown, Closed: true},
			`the job was waited for by operation "owner" (workflow "` + workflowID + `"), run "run-1", and has a decided end`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner := spec()
			owner.OperationID, owner.RequestFingerprint = "owner", test.theirs
			mine := spec()
			mine.RequestFingerprint = test.mine
			c := ownedClient(t, test.status)
			c.On("GetWorkflowHistory", mock.Anything, workflowID, "run-1", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).
				Return(historyOf(t, owner))

			_, err := jobwait.Start(t.Context(), c, mine, jobwait.StartOptions{})
			test.want.WorkflowID, test.want.RunID = workflowID, "run-1"
			var owned *jobwait.AlreadyOwnedError
			require.ErrorAs(t, err, &owned)
			require.Equal(t, test.want, *owned)
			require.EqualError(t, err, test.text)
		})
	}
}

// The refusal stands when the owner's history cannot be read.
func TestStartIsRefusedWhoeverTheOwnerIs(t *testing.T) {
	t.Parallel()
	c, events := ownedClient(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING), mocks.NewHistoryEventIterator(t)
	events.On("HasNext").Return(true)
	events.On("Next").Return(nil, serviceerror.NewNotFound("gone"))
	c.On("GetWorkflowHistory", mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(events)
	_, err := jobwait.Start(t.Context(), c, spec(), jobwait.StartOptions{})
	require.EqualError(t, err, `the job is owned by workflow "`+workflowID+`"`)
}

func TestStartPassesOnOtherErrors(t *testing.T) {
	t.Parallel()
	c, cause := mocks.NewClient(t), errors.New("no route to host")
	c.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil, cause)
	_, err := jobwait.Start(t.Context(), c, spec(), jobwait.StartOptions{})
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, workflowID)
}

// ownedClient refuses a start because run-1 has the job.
func ownedClient(t *testing.T, status enumspb.WorkflowExecutionStatus) *mocks.Client {
	t.Helper()
	c := mocks.NewClient(t)
	c.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).
		Return(nil, serviceerror.NewWorkflowExecutionAlreadyStarted("taken", "request", "run-1"))
	c.On("DescribeWorkflow", mock.Anything, workflowID, "run-1").Return(&client.WorkflowExecutionDescription{
		WorkflowExecutionMetadata: client.WorkflowExecutionMetadata{Status: status},
	}, nil)
	return c
}

func payload(t *testing.T, value any) *commonpb.Payload {
	t.Helper()
	made, err := converter.GetDefaultDataConverter().ToPayload(value)
	require.NoError(t, err)
	return made
}

// historyOf begins with a start that was given the spec.
func historyOf(t *testing.T, spec wire.Spec) client.HistoryEventIterator {
	t.Helper()
	input := payload(t, spec)
	events := mocks.NewHistoryEventIterator(t)
	events.On("HasNext").Return(true)
	events.On("Next").Return(&historypb.HistoryEvent{
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{input}},
			},
		},
	}, nil)
	return events
}

func TestAnIDThatIsTakenIsToldWithItsRun(t *testing.T) {
	t.Parallel()
	refusing := func() client.Client {
		c := mocks.NewClient(t)
		c.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).
			Return(nil, serviceerror.NewWorkflowExecutionAlreadyStarted("taken", "request", "run-1"))
		return c
	}

	_, err := jobwait.StartSubmit(t.Context(), refusing(), wire.SubmitSpec{SubmissionID: "s-1", Provider: "p", Account: "a"}, jobwait.StartOptions{})
	var submitted *jobwait.AlreadySubmittedError
	require.ErrorAs(t, err, &submitted)
	require.Equal(t, jobwait.AlreadySubmittedError{WorkflowID: "jobwait-submit/p/a/s-1", RunID: "run-1"}, *submitted)

	_, err = jobwait.StartFetch(t.Context(), refusing(), wire.FetchSpec{Provider: "p", Account: "a", ProviderJobID: "j", ResultName: "file"}, jobwait.StartOptions{})
	var fetched *jobwait.AlreadyFetchedError
	require.ErrorAs(t, err, &fetched)
	require.Equal(t, jobwait.AlreadyFetchedError{WorkflowID: "jobwait-fetch/p/a/j/file", RunID: "run-1"}, *fetched)
}
