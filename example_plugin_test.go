package jobwait_test

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
)

// vault stands for wherever a team keeps its secrets.
type vault struct{}

func (vault) Credential(_ context.Context, name string) (activities.Credential, error) {
	if name != "openai" {
		return activities.Credential{}, fmt.Errorf("%w %q", activities.ErrUnknownCredential, name)
	}
	return activities.Credential{
		Version: "2026-11", Origins: []string{"https://api.openai.com"}, Providers: []string{"openai-batch"},
		Read: func(context.Context) (activities.Secret, error) {
			return activities.NewSecret("read afresh for each request")
		},
	}, nil
}

// Register jobwait in a worker of your own, beside your workflows and activities.
func ExampleNewPlugin() {
	tables, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	if err != nil {
		fmt.Println(err)
		return
	}
	plugin, err := jobwait.NewPlugin(jobwait.Options{Tables: tables, Credentials: vault{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.NewLazyClient(client.Options{}) // yours is dialled
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	w := worker.New(c, "reports", worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflow(MonthlyReport)
	// err = w.Run(worker.InterruptCh())

	_, known := tables.Table("openai-batch")
	fmt.Println(plugin.Name(), "is registered; openai-batch is known:", known)
	// Output:
	// jobwait is registered; openai-batch is known: true
}
