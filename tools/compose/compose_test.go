// Package compose checks the repository's docker-compose.yml with the specification's own loader: no container is started, so it
// runs where there is no Docker.
package compose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

// oneShots end by themselves; everything else stays up.
var oneShots = []string{"temporal-schema", "temporal-setup"}

// ours are built from this repository.
var ours = []string{"provider", "worker", "inbox"}

func TestLoads(t *testing.T) {
	t.Parallel()
	project := load(t)
	require.ElementsMatch(t,
		[]string{"postgres", "temporal-schema", "temporal", "temporal-setup", "temporal-ui", "provider", "worker", "inbox", "prometheus"},
		project.ServiceNames())
	require.Equal(t, "jobwait", project.Name)
}

func TestNoVariableIsNeeded(t *testing.T) {
	t.Parallel()
	content := read(t, "docker-compose.yml")
	for _, variable := range regexp.MustCompile(`[^$]\$\{?[A-Z_]+[^}]*\}?`).FindAllString(content, -1) {
		require.Regexp(t, `\$\{[A-Z_]+:-[^}]+\}`, variable, "a variable without a default makes a silent empty string")
	}
}

func TestDependenciesExistAndCanBeMet(t *testing.T) {
	t.Parallel()
	project := load(t)
	for name, service := range project.Services {
		for on, dependency := range service.DependsOn {
			target, exists := project.Services[on]
			require.True(t, exists, "%s depends on %s", name, on)
			switch dependency.Condition {
			case types.ServiceConditionHealthy:
				require.NotNil(t, target.HealthCheck, "%s waits for %s to be healthy", name, on)
			case types.ServiceConditionCompletedSuccessfully:
				require.Contains(t, oneShots, on, "%s waits for %s to end", name, on)
			default:
				require.Fail(t, "a service that was only started need not be ready", "%s on %s: %q", name, on, dependency.Condition)
			}
		}
	}
}

func TestEverythingThatStaysUpHasAHealthCheckAndComesBack(t *testing.T) {
	t.Parallel()
	for name, service := range load(t).Services {
		if slices.Contains(oneShots, name) {
			require.Regexp(t, `^on-failure:\d+$`, service.Restart, "%s: a one-shot that fails for ever never shows", name)
			continue
		}
		require.Equal(t, types.RestartPolicyUnlessStopped, service.Restart, name)
		require.NotNil(t, service.HealthCheck, name)
		require.NotEmpty(t, service.HealthCheck.Test, name)
		require.NotNil(t, service.HealthCheck.Timeout, name)
		require.NotContains(t, strings.Join(service.HealthCheck.Test, " "), "localhost", "%s: localhost may be ::1, where nobody listens", name)
	}
}

func TestPortsAreOnLoopback(t *testing.T) {
	t.Parallel()
	published := 0
	for name, service := range load(t).Services {
		for _, port := range service.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s publishes %d", name, port.Target)
			published++
		}
	}
	require.Equal(t, 4, published, "Temporal, its UI, the inbox and Prometheus; nobody outside needs the database, the worker or the provider")
}

func TestImagesArePinned(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$`)
	for name, service := range load(t).Services {
		if !slices.Contains(ours, name) {
			require.Regexp(t, pinned, service.Image, name)
		}
	}
	for _, base := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(read(t, "Dockerfile"), -1) {
		require.True(t, base[1] == "scratch" || pinned.MatchString(base[1]), "Dockerfile: FROM %s", base[1])
	}
}

func TestImageIsBuiltWithTheLanguageVersionOfTheModule(t *testing.T) {
	t.Parallel()
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	require.NotNil(t, language)
	require.Regexp(t, `FROM golang:`+regexp.QuoteMeta(language[1])+`\.\d+-`, read(t, "Dockerfile"))
}

func TestOurContainersHaveNoRights(t *testing.T) {
	t.Parallel()
	project := load(t)
	for _, name := range ours {
		service := project.Services[name]
		require.True(t, service.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, service.CapDrop, name)
		require.Contains(t, service.SecurityOpt, "no-new-privileges:true", name)
		require.False(t, service.Privileged, name)
	}
	require.Regexp(t, `(?m)^USER [1-9][0-9]*:[1-9][0-9]*$`, read(t, "Dockerfile"))
}

func TestBuildsFindTheirSources(t *testing.T) {
	t.Parallel()
	project := load(t)
	for _, name := range ours {
		build := project.Services[name].Build
		require.NotNil(t, build, name)
		require.FileExists(t, filepath.Join(build.Context, build.Dockerfile), name)
		require.NotNil(t, build.Args["CMD"], name)
		requireMain(t, filepath.Join(build.Context, *build.Args["CMD"]))
	}
	requireMain(t, filepath.Join(root, "deploy", "healthcheck")) // the Dockerfile builds it into every image
}

func TestMountsExistAndAreReadOnly(t *testing.T) {
	t.Parallel()
	project := load(t)
	for name, service := range project.Services {
		for _, volume := range service.Volumes {
			switch volume.Type {
			case types.VolumeTypeBind:
				require.FileExists(t, volume.Source, name)
				require.True(t, volume.ReadOnly, "%s: %s", name, volume.Target)
			default:
				require.Contains(t, project.Volumes, volume.Source, name)
			}
		}
	}
}

func TestWorkerMayFinishARequestWhenItIsStopped(t *testing.T) {
	t.Parallel()
	worker := load(t).Services["worker"]
	timeout, err := time.ParseDuration(flagValue(worker.Command, "--stop-timeout"))
	require.NoError(t, err)
	require.NotNil(t, worker.StopGracePeriod)
	require.Greater(t, time.Duration(*worker.StopGracePeriod), timeout)
}

// The demo's table accepts loopback origins only.
func TestWorkerReachesTheProviderOnLoopback(t *testing.T) {
	t.Parallel()
	project := load(t)
	require.Equal(t, "service:provider", project.Services["worker"].NetworkMode)
	require.True(t, project.Services["worker"].DependsOn["provider"].Restart, "a network is lost when its owner restarts")
	require.Contains(t, project.Services["worker"].Command, "--demo")
	address := flagValue(project.Services["provider"].Command, "--addr")
	require.Regexp(t, `^127\.0\.0\.1:\d+$`, address)

	var file struct {
		Credentials map[string]struct {
			Env     string
			Origins []string
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/credentials.yaml")), &file))
	require.Equal(t, []string{"http://" + address}, file.Credentials["demo"].Origins)
	require.NotContains(t, project.Services["inbox"].Environment, file.Credentials["demo"].Env, "who answers needs no credential")
	for _, name := range []string{"provider", "worker"} {
		require.Contains(t, project.Services[name].Environment, file.Credentials["demo"].Env, "both ends know the key")
	}
	require.Equal(t, file.Credentials["demo"].Env, flagValue(project.Services["provider"].Command, "--key-env"))
}

// What is being sent when the inbox is stopped is seen to its end, for half a minute and a little.
func TestInboxMayFinishAnAnswerWhenItIsStopped(t *testing.T) {
	t.Parallel()
	inbox := load(t).Services["inbox"]
	require.NotNil(t, inbox.StopGracePeriod)
	require.Greater(t, time.Duration(*inbox.StopGracePeriod), 35*time.Second)
	require.Equal(t, []string{"inbox"}, inbox.Profiles, "off until somebody has said who may use it")
	require.NotContains(t, inbox.Command, "--local")
}

func TestSetupRegistersWhatJobwaitWrites(t *testing.T) {
	t.Parallel()
	script := strings.Join(load(t).Services["temporal-setup"].Command, "\n")
	for name, kind := range map[string]string{
		"JobWaitProvider": "Keyword", "JobWaitPhase": "Keyword", "JobWaitReason": "Keyword", "JobWaitDecideBy": "Datetime",
	} {
		require.Contains(t, script, "--name "+name+" --type "+kind)
	}
}

func TestPrometheusScrapesServicesThatExist(t *testing.T) {
	t.Parallel()
	project := load(t)
	names := append(project.ServiceNames(), project.Services["provider"].Networks["default"].Aliases...)
	var file struct {
		ScrapeConfigs []struct {
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/prometheus.yml")), &file))
	require.Len(t, file.ScrapeConfigs, 2)
	for _, scrape := range file.ScrapeConfigs {
		for _, target := range scrape.StaticConfigs[0].Targets {
			host, _, _ := strings.Cut(target, ":")
			require.Contains(t, names, host)
		}
	}
	// The worker lives in the provider's network: its own name resolves to nothing, the alias has to.
	require.Contains(t, project.Services["provider"].Networks["default"].Aliases, "worker")
}

func TestOtherFilesParse(t *testing.T) {
	t.Parallel()
	var settings map[string][]struct{ Value any }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/dynamic.yaml")), &settings))
	require.NotEmpty(t, settings)
	for key, values := range settings {
		require.Len(t, values, 1, key)
		require.NotNil(t, values[0].Value, key)
	}
	require.True(t, json.Valid([]byte(read(t, "deploy/demo-jobs.json"))))
}

func load(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithDiscardEnvFile, cli.WithProfiles([]string{"metrics", "inbox"}), cli.WithResolvedPaths(true))
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return project
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	require.NoError(t, err)
	return string(content)
}

func requireMain(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if regexp.MustCompile(`(?m)^package main$`).Match(content) {
			return
		}
	}
	require.Fail(t, "no package main", "in %s", folder)
}

func flagValue(command []string, flag string) string {
	for i, word := range command {
		if word == flag && i+1 < len(command) {
			return command[i+1]
		}
		if value, ok := strings.CutPrefix(word, flag+"="); ok {
			return value
		}
	}
	return ""
}
