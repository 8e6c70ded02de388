package workercmd

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/grpc"

	"github.com/jobwait/jobwait/wire"
)

// operator is an operator service that knows some attributes and may refuse.
type operator struct {
	operatorservice.OperatorServiceClient
	have            map[string]enumspb.IndexedValueType
	listErr, addErr error
	added           map[string]enumspb.IndexedValueType
}

func (o *operator) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: o.have}, o.listErr
}

func (o *operator) AddSearchAttributes(_ context.Context, in *operatorservice.AddSearchAttributesRequest, _ ...grpc.CallOption) (*operatorservice.AddSearchAttributesResponse, error) {
	o.added = in.GetSearchAttributes()
	return nil, o.addErr
}

func TestSearchAttributesAreRegisteredWhereTheyMayBe(t *testing.T) {
	t.Parallel()
	const (
		advice  = "temporal operator search-attribute create --namespace ns --name JobWaitDecideBy --type Datetime"
		missing = "search attributes are not registered and "
	)
	denied := serviceerror.NewPermissionDenied("no", "")
	unknown := serviceerror.NewInvalidArgument("no such attribute")
	three := attributes()
	delete(three, wire.AttributeReason)
	wrong := attributes()
	wrong[wire.AttributePhase] = enumspb.INDEXED_VALUE_TYPE_INT
	for name, test := range map[string]struct {
		operator operator
		// counts are the answers to the query that names them all, in order; nil: it is not asked.
		counts []error
		added  map[string]enumspb.IndexedValueType
		says   string
		err    string
	}{
		"all there":                  {operator: operator{have: attributes()}},
		"none there":                 {operator: operator{}, counts: []error{nil}, added: attributes(), says: "registered search attributes"},
		"known only later":           {operator: operator{}, counts: []error{unknown, nil}, added: attributes(), says: "registered search attributes"},
		"one missing":                {operator: operator{have: three}, counts: []error{nil}, added: map[string]enumspb.IndexedValueType{wire.AttributeReason: enumspb.INDEXED_VALUE_TYPE_KEYWORD}, says: "JobWaitReason"},
		"another worker was faster":  {operator: operator{addErr: serviceerror.NewAlreadyExists("there")}, counts: []error{nil}, added: attributes()},
		"may not add":                {operator: operator{addErr: denied}, counts: []error{unknown}, added: attributes(), says: missing + "they cannot be registered"},
		"may not add, but has them":  {operator: operator{listErr: denied}, counts: []error{nil}},
		"may not list, has not them": {operator: operator{listErr: denied}, counts: []error{unknown}, says: missing + "they cannot be listed"},
		"another type":               {operator: operator{have: wrong}, err: "search attribute JobWaitPhase is registered as Int, Keyword is wanted; remove it or use another namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := mocks.NewClient(t)
			c.On("OperatorService").Return(&test.operator)
			for _, answer := range test.counts {
				c.On("CountWorkflow", mock.Anything, mock.MatchedBy(func(r *workflowservice.CountWorkflowExecutionsRequest) bool {
					return r.GetNamespace() == "ns"
				})).Once().Return(&workflowservice.CountWorkflowExecutionsResponse{}, answer)
			}
			var log bytes.Buffer
			err := (&registrar{client: c, namespace: "ns", logger: slog.New(slog.NewTextHandler(&log, nil))}).register(t.Context())
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.added, test.operator.added)
			require.Contains(t, log.String(), test.says)
			require.Equal(t, bytes.Contains(log.Bytes(), []byte(missing)), bytes.Contains(log.Bytes(), []byte(advice)))
		})
	}
}

// A server that never gets to know them holds up the start only so long.
func TestRegistrationGivesUpWaiting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := mocks.NewClient(t)
	c.On("OperatorService").Return(&operator{})
	c.On("CountWorkflow", mock.Anything, mock.Anything).Run(func(mock.Arguments) { cancel() }).
		Return(nil, serviceerror.NewInvalidArgument("no such attribute"))
	var log bytes.Buffer
	require.NoError(t, (&registrar{client: c, namespace: "ns", logger: slog.New(slog.NewTextHandler(&log, nil))}).register(ctx))
	require.Contains(t, log.String(), "does not know the new search attributes yet")
}
