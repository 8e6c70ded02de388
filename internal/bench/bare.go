package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The names of the bare loop in histories.
const (
	bareWorkflow = "BareLoop"
	bareActivity = "BareGet"
)

// bareInput is the input of the bare loop.
type bareInput struct {
	URL   string        `json:"url"`
	Pause time.Duration `json:"pause"`
}

// bareLoop polls until the job is no longer running. It records nothing, has no limits, trusts every answer and ignores requests
// that fail: it is the least that polling through Temporal can cost.
func bareLoop(ctx workflow.Context, in bareInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 15 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	for {
		var state string
		err := workflow.ExecuteActivity(ctx, bareActivity, in.URL).Get(ctx, &state)
		if err == nil && state != stateRunning {
			return state, nil
		}
		if err := workflow.Sleep(ctx, in.Pause); err != nil {
			return "", err
		}
	}
}

// bareGetter sends the requests of the bare loop with the settings of the real client: HTTP/1.1, a new connection for each, no
// compression, bounded headers and body, the same timeout.
type bareGetter struct {
	client *http.Client
	key    string
}

func newBareGetter(key string) *bareGetter {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &bareGetter{key: key, client: &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, Protocols: protocols, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}}
}

func (g *bareGetter) get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+g.key)
	answer, err := g.client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("bench: status %d", answer.StatusCode)
	}
	var job struct {
		State string `json:"state"`
	}
	return job.State, json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&job)
}

// bareRegistry is the part that a worker and a replayer have in common.
type bareRegistry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

func registerBareLoop(registry bareRegistry) {
	registry.RegisterWorkflowWithOptions(bareLoop, workflow.RegisterOptions{Name: bareWorkflow})
}

func (g *bareGetter) options() activity.RegisterOptions {
	return activity.RegisterOptions{Name: bareActivity}
}
