package workercmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/wire"
)

// askAgain is the time between looks at whether new search attributes are known: servers cache them for seconds.
const askAgain = 250 * time.Millisecond

// attributes are the search attributes that waits write.
func attributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		wire.AttributeProvider: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		wire.AttributePhase:    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		wire.AttributeReason:   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		wire.AttributeDecideBy: enumspb.INDEXED_VALUE_TYPE_DATETIME,
	}
}

// registrar registers search attributes where it may. Where it may not, it says so and the worker goes on: waits find out
// by themselves and do without.
type registrar struct {
	client    client.Client
	namespace string
	logger    *slog.Logger
}

func (r *registrar) register(ctx context.Context) error {
	listed, err := r.client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: r.namespace})
	if err != nil {
		return r.without(ctx, "they cannot be listed", err)
	}
	missing, err := compare(listed.GetCustomAttributes())
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = r.client.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: r.namespace, SearchAttributes: missing,
	})
	if err != nil && !errors.As(err, new(*serviceerror.AlreadyExists)) { // another worker was faster
		return r.without(ctx, "they cannot be registered", err)
	}
	r.logger.InfoContext(ctx, "registered search attributes", "names", names(missing))
	return r.awaitKnown(ctx)
}

// compare finds what is not registered. A wrong type is an error: the first wait that writes such an attribute would be
// stuck for ever.
func compare(have map[string]enumspb.IndexedValueType) (map[string]enumspb.IndexedValueType, error) {
	missing := map[string]enumspb.IndexedValueType{}
	for name, want := range attributes() {
		got, ok := have[name]
		if !ok {
			missing[name] = want
		} else if got != want {
			return nil, fmt.Errorf("search attribute %s is registered as %s, %s is wanted; remove it or use another namespace", name, got, want)
		}
	}
	return missing, nil
}

// without reports that waits may have to do without search attributes, unless somebody else has registered them.
func (r *registrar) without(ctx context.Context, what string, cause error) error {
	if r.known(ctx) {
		return nil
	}
	r.logger.WarnContext(ctx, "search attributes are not registered and "+what+"; waits go on without them. An administrator "+
		"registers them with: "+command(r.namespace), "cause", cause)
	return nil
}

// command is how an administrator registers the attributes.
func command(namespace string) string {
	text := "temporal operator search-attribute create --namespace " + namespace
	for _, name := range slices.Sorted(maps.Keys(attributes())) {
		text += " --name " + name + " --type " + attributes()[name].String()
	}
	return text
}

// awaitKnown waits until the frontend knows the new attributes. A wait that begins earlier does without them.
func (r *registrar) awaitKnown(ctx context.Context) error {
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for !r.known(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.logger.WarnContext(ctx, "the server does not know the new search attributes yet; waits that begin now do without them")
			return nil
		}
	}
	return nil
}

// known asks as a wait will: a query that names an unregistered attribute is refused.
func (r *registrar) known(ctx context.Context) bool {
	var parts []string
	for name := range attributes() {
		parts = append(parts, name+" IS NULL")
	}
	_, err := r.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: r.namespace, Query: "WorkflowType = '" + wire.WorkflowAwaitJob + "' AND " + strings.Join(parts, " AND "),
	})
	return err == nil
}

func names(attributes map[string]enumspb.IndexedValueType) []string {
	return slices.Sorted(maps.Keys(attributes))
}
