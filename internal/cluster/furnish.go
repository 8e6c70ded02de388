package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jobwait/jobwait/wire"
)

// schema makes the two databases and brings their tables to the server's version. Done again it changes nothing.
func (c *Cluster) schema(ctx context.Context) error {
	for database, schema := range map[string]string{"temporal": "temporal", "temporal_visibility": "visibility"} {
		for _, args := range [][]string{
			{"create"}, {"setup-schema", "-v", "0.0"}, {"update-schema", "--schema-name", "postgresql/v12/" + schema},
		} {
			if err := c.schemaTool(ctx, append([]string{"--db", database}, args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cluster) schemaTool(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.options.Programs.SchemaTool, args...)
	cmd.Env = append(cmd.Environ(), "SQL_PLUGIN="+plugin, "SQL_HOST="+host, "SQL_PORT="+strconv.Itoa(c.postgres.port),
		"SQL_USER="+dbUser, "SQL_PASSWORD="+c.postgres.password)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cluster: the schema tool with %q: %w\n%s", args, err, out)
	}
	return nil
}

func (c *Cluster) clientOptions() client.Options {
	return client.Options{
		HostPort: c.Address, Namespace: c.Namespace, Identity: "cluster",
		Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	}
}

// furnish makes the namespace and its search attributes, and returns once the frontend knows both, which takes some seconds.
func (c *Cluster) furnish(ctx context.Context) error {
	made, err := client.DialContext(ctx, c.clientOptions())
	if err != nil {
		return err
	}
	defer made.Close()
	_, err = made.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: c.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(72 * time.Hour),
	})
	if there := new(serviceerror.NamespaceAlreadyExists); err != nil && !errors.As(err, &there) {
		return fmt.Errorf("cluster: making the namespace: %w", err)
	}
	return untilKnown(ctx, func() error { return c.attributes(ctx, made) })
}

// attributes registers jobwait's search attributes and uses one of them, as a worker does.
func (c *Cluster) attributes(ctx context.Context, made client.Client) error {
	_, err := made.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: c.Namespace,
		SearchAttributes: map[string]enumspb.IndexedValueType{
			wire.AttributeProvider: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			wire.AttributePhase:    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			wire.AttributeReason:   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
			wire.AttributeDecideBy: enumspb.INDEXED_VALUE_TYPE_DATETIME,
		},
	})
	if there := new(serviceerror.AlreadyExists); err != nil && !errors.As(err, &there) {
		return err
	}
	_, err = made.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: wire.AttributeDecideBy + " IS NULL AND " + wire.AttributePhase + ` = "polling"`,
	})
	return err
}

// untilKnown tries again for as long as a frontend may take to see what was made.
func untilKnown(ctx context.Context, try func() error) error {
	const patience = 30
	var err error
	for range patience {
		if err = try(); err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx, time.Second)
	}
	return fmt.Errorf("cluster: the search attributes are not known after %d s: %w", patience, err)
}
