package activities

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/wire"
)

type registered map[string]any

func (r registered) RegisterActivityWithOptions(function any, options activity.RegisterOptions) {
	r[options.Name] = function
}

func TestRegister(t *testing.T) {
	t.Parallel()
	activities, err := New(newWorld(t, nil).options)
	require.NoError(t, err)
	names := registered{}
	activities.Register(names)
	require.ElementsMatch(t,
		[]string{
			wire.ActivityPrepare, wire.ActivityPollStatus, wire.ActivityCancelAtProvider, wire.ActivityNotify, wire.ActivityTrustedKeys, wire.ActivityFetchResult,
			wire.ActivityPrepareSubmission, wire.ActivitySubmit, wire.ActivityFindOwner, wire.ActivityAwaitOwner,
		},
		slices.Collect(maps.Keys(names)))
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		"activities: Tables is nil":    func(o *Options) { o.Tables = nil },
		"credentials: open":            func(o *Options) { o.Credentials = CredentialsFile("nowhere.yaml") },
		"policy: max_extensions is -1": func(o *Options) { o.Policy.MaxExtensions = new(-1) },
		`policy: provider "openai-bach" has no state table`: func(o *Options) {
			o.Policy.Providers = map[string]ProviderPolicy{"openai-bach": {}}
		},
	} {
		options := newWorld(t, nil).options
		change(&options)
		_, err := New(options)
		require.ErrorContains(t, err, want)
	}
	_, err := New(Options{Tables: newWorld(t, nil).options.Tables})
	require.NoError(t, err, "everything else has a default")
}
