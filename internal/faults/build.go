package faults

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binaries are the programs of a run.
type Binaries struct {
	Workers  map[Build]string
	Provider string
}

const module = "github.com/jobwait/jobwait"

// BuildBinaries builds the programs into a directory. flags are further flags for the workers' builds.
func BuildBinaries(ctx context.Context, dir string, flags ...string) (Binaries, error) {
	made := Binaries{Workers: map[Build]string{}, Provider: filepath.Join(dir, "fakeprovider")}
	for _, build := range []Build{Old, New} {
		made.Workers[build] = filepath.Join(dir, "worker-"+string(build))
		versioned := append([]string{"-ldflags", "-X main.version=" + string(build)}, flags...)
		if err := goBuild(ctx, made.Workers[build], module+"/worker", versioned...); err != nil {
			return Binaries{}, err
		}
	}
	return made, goBuild(ctx, made.Provider, module+"/waittest/fakeprovider")
}

func goBuild(ctx context.Context, to, pkg string, flags ...string) error {
	args := append(append([]string{"build"}, flags...), "-o", to, pkg)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("faults: go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// moduleRoot is where the module's files are.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("faults: where the module is: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
