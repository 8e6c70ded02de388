package activities_test

import (
	"context"
	"fmt"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/statetables"
)

// vault stands for a secret store of your own.
type vault struct{}

func (vault) Credential(_ context.Context, name string) (activities.Credential, error) {
	if name != "openai" {
		return activities.Credential{}, fmt.Errorf("vault: %w %q", activities.ErrUnknownCredential, name)
	}
	return activities.Credential{
		Version:   "2025-04",
		Origins:   []string{"https://api.openai.com"},
		Providers: []string{"openai-batch"},
		// Read runs right before each request, so a short-lived token is minted here.
		Read: func(context.Context) (activities.Secret, error) { return activities.NewSecret("sk-example") },
	}, nil
}

// Credentials may come from anywhere: the worker asks for them by name before each request.
func ExampleCredentialSource() {
	tables, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
	if err != nil {
		panic(err)
	}
	if _, err := activities.New(activities.Options{Tables: tables, Credentials: vault{}}); err != nil {
		panic(err)
	}
	credential, _ := vault{}.Credential(context.Background(), "openai")
	secret, _ := credential.Read(context.Background())
	fmt.Println(credential.Version, secret)
	// Output: 2025-04 [redacted]
}
