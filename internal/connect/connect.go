// Package connect reads Temporal's connection settings and connects to it, for the commands of this module.
package connect

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// Settings is one paragraph for --help.
const Settings = `The connection to Temporal comes from Temporal's own settings: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
TEMPORAL_TLS_*, and the configuration file of the temporal command (TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE). Without any
it is localhost:7233, namespace default.`

// Options are the client options that the environment and Temporal's configuration file give. A remote codec is used by
// commands for people only: a worker would call it for every step of a replay.
func Options(logger *slog.Logger, remoteCodec bool) (client.Options, error) {
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{IncludeRemoteCodec: remoteCodec})
	if err != nil {
		return client.Options{}, fmt.Errorf("temporal settings: %w", err)
	}
	if options.HostPort == "" {
		options.HostPort = client.DefaultHostPort
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.Logger = log.NewStructuredLogger(logger)
	options.Identity = Identity()
	return options, nil
}

// Dial connects, or says which server did not answer.
func Dial(ctx context.Context, options client.Options) (client.Client, error) {
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, &UnreachableError{Address: options.HostPort, Cause: err}
	}
	return c, nil
}

// UnreachableError says that no Temporal server answered.
type UnreachableError struct {
	Address string
	Cause   error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("temporal at %s: %v", e.Address, e.Cause)
}

func (e *UnreachableError) Unwrap() error { return e.Cause }

// Identity names this process in histories. It is written into four events of every poll, so it is short.
func Identity() string {
	const longest = 16
	host, _, _ := strings.Cut(hostname(), ".")
	return fmt.Sprintf("%d@%s", os.Getpid(), host[:min(len(host), longest)])
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
