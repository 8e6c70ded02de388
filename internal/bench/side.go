package bench

import (
	"context"
	"errors"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/wire"
)

const (
	// requestTimeout is the timeout of both sides' requests.
	requestTimeout = 10 * time.Second
	// starters is how many waits are being started at the same time.
	starters = 16
	// startAttempts bounds the attempts to start a wait, of ten seconds each.
	startAttempts = 6
)

// side is one of the two sides that are compared.
type side struct {
	name, role string
	// activity is the activity type that sends the request.
	activity string
	// args returns the worker's arguments for a task queue.
	args func(queue string) []string
	// start starts a wait that polls on average after the time between.
	start func(ctx context.Context, t *turn, job string, between time.Duration) (client.WorkflowRun, error)
}

func (b *bench) sides() []side {
	return []side{
		{
			name: roleBare, role: roleBare, activity: bareActivity, start: b.startBare,
			args: func(queue string) []string { return []string{queue} },
		},
		{
			name: roleJobwait, role: roleJobwait, activity: wire.ActivityPollStatus, start: b.startWait,
			args: func(queue string) []string {
				return []string{"--demo", "--credentials", b.credentials, "--task-queue", queue, "--log-level", "warn"}
			},
		},
	}
}

func (b *bench) startBare(ctx context.Context, t *turn, job string, between time.Duration) (client.WorkflowRun, error) {
	return t.host.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "bare/" + job, TaskQueue: t.queue},
		bareWorkflow, bareInput{URL: b.provider.url(job), Pause: between})
}

// startWait starts a wait that polls at once, and then on average as often as the bare loop: its delays are drawn between a minimum
// and twice that, so the minimum is two thirds of the mean.
func (b *bench) startWait(ctx context.Context, t *turn, job string, between time.Duration) (client.WorkflowRun, error) {
	zero, timeout := 0, int(requestTimeout/time.Second)
	least := int((between * 2 / 3).Seconds())
	spec := wire.Spec{
		OperationID: "op-" + job, Provider: "demo-export", Account: "acct-42", ProviderJobID: job,
		StatusURL: b.provider.url(job), CredentialRef: "demo",
		DeadlineAt: time.Now().Add(24 * time.Hour).Truncate(time.Second), MaxStatusRequests: 100_000, MaxTransportFailures: 100,
		Schedule: wire.Schedule{
			InitialDelaySeconds: &zero, BaseDelaySeconds: &least, MaxDelaySeconds: &least, MinDelaySeconds: &least,
			RequestTimeoutSeconds: &timeout,
		},
	}
	return t.host.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID), TaskQueue: t.queue,
	}, wire.WorkflowAwaitJob, spec)
}

// turn is a server and a worker of one side with their waits, which form one group of jobs.
type turn struct {
	side
	host         *host
	group, queue string
	worker       *workerProcess
	runs         []client.WorkflowRun
	jobs         []string
	started      map[string]time.Time
}

// take begins a turn with a new server and a new worker; leave ends it.
func (b *bench) take(ctx context.Context, s side, phase string) (*turn, error) {
	b.turns++
	group := s.name + "-" + phase + "-" + strconv.Itoa(b.turns)
	t := &turn{side: s, group: group, queue: "bench-" + group, started: map[string]time.Time{}}
	var err error
	if t.host, err = b.newHost(ctx); err != nil {
		return nil, err
	}
	if t.worker, err = b.newWorker(t.host, s, t.queue); err != nil {
		return nil, errors.Join(err, t.host.stop())
	}
	if err := t.ready(ctx); err != nil {
		return nil, errors.Join(err, t.leave())
	}
	return t, nil
}

// leave ends a turn and everything that it has started.
func (t *turn) leave() error { return errors.Join(t.worker.stop(), t.host.stop()) }

// ready waits until the worker polls for tasks of both kinds.
func (t *turn) ready(ctx context.Context) error {
	return until(ctx, time.Minute, func() bool {
		return t.polled(ctx, enumspb.TASK_QUEUE_TYPE_WORKFLOW) && t.polled(ctx, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	})
}

func (t *turn) polled(ctx context.Context, kind enumspb.TaskQueueType) bool {
	described, err := t.host.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: t.host.server.Namespace, TaskQueueType: kind,
		TaskQueue: &taskqueuepb.TaskQueue{Name: t.queue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
	})
	return err == nil && len(described.GetPollers()) > 0
}

// add starts waits, evenly distributed over the given time; 0 means as fast as possible.
func (b *bench) add(ctx context.Context, t *turn, name string, n int, between, over time.Duration) ([]string, error) {
	began := time.Now()
	jobs, runs, times := make([]string, n), make([]client.WorkflowRun, n), make([]time.Time, n)
	err := inParallel(ctx, n, func(ctx context.Context, i int) (err error) {
		if err := pause(ctx, time.Until(began.Add(over*time.Duration(i)/time.Duration(n)))); err != nil {
			return err
		}
		jobs[i], times[i] = t.group+"."+name+strconv.Itoa(i), time.Now()
		runs[i], err = t.patiently(ctx, jobs[i], between)
		return err
	})
	for i, job := range jobs {
		if runs[i] != nil {
			t.started[job], t.runs = times[i], append(t.runs, runs[i])
		}
	}
	t.jobs = append(t.jobs, jobs...)
	return jobs, err
}

// patiently starts a wait even if the server is too busy to answer in time. If an earlier attempt was successful after all, its
// wait is found and not started again.
func (t *turn) patiently(ctx context.Context, job string, between time.Duration) (run client.WorkflowRun, err error) {
	for range startAttempts {
		if run, err = t.start(ctx, t, job, between); err == nil || ctx.Err() != nil {
			return run, err
		}
	}
	return nil, err
}
