package jobwait_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/wire"
)

// Start a wait from any Go program, and find out who owns the job if somebody does.
func ExampleStart() {
	ctx := context.Background()
	c, err := client.Dial(client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	run, err := jobwait.Start(ctx, c, wire.Spec{
		OperationID: "export-7", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c",
		StatusURL: "https://exports.example.com/exports/exp_71c", CredentialRef: "exports",
		RequestFingerprint: "sha256:4f1c", DeadlineAt: time.Now().Add(40 * time.Minute),
		MaxStatusRequests: 12, MaxTransportFailures: 3,
	}, jobwait.StartOptions{})
	var owned *jobwait.AlreadyOwnedError
	switch {
	case errors.As(err, &owned) && owned.Fingerprint == jobwait.FingerprintSame && !owned.Closed:
		run = c.GetWorkflow(ctx, owned.WorkflowID, "") // the same submission: wait with its owner
	case err != nil:
		fmt.Println(err)
		return
	}
	var outcome wire.Outcome
	if err := run.Get(ctx, &outcome); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.Status, outcome.Result)
}
