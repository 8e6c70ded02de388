package faults

import (
	"context"
	"fmt"
	"os"
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

// BuildBinaries builds the programs of a run into a directory. flags are additional flags for building the workers.
func BuildBinaries(ctx context.Context, dir string, options Options, flags ...string) (Binaries, error) {
	made := Binaries{Provider: filepath.Join(dir, "fakeprovider"), Workers: map[Build]string{
		Old: filepath.Join(dir, "worker-old"), New: filepath.Join(dir, "worker-new"),
	}}
	if err := buildOld(ctx, made.Workers[Old], options, flags); err != nil {
		return Binaries{}, err
	}
	if err := buildNew(ctx, made.Workers[New], options, flags); err != nil {
		return Binaries{}, err
	}
	return made, goBuild(ctx, made.Provider, module+"/waittest/fakeprovider")
}

// buildOld builds the workers that a run begins with, from Options.OldRevision if it is set.
func buildOld(ctx context.Context, to string, options Options, flags []string) error {
	if options.OldRevision == "" {
		return goBuild(ctx, to, module+"/worker", flags...)
	}
	source, err := checkOut(ctx, to+"-source", options.OldRevision)
	if err != nil {
		return err
	}
	return goBuild(ctx, to, "./worker", append([]string{"-C", source}, flags...)...) // -C has to be the first
}

// checkOut writes the files of a revision into a directory.
func checkOut(ctx context.Context, dir, revision string) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	archive := dir + ".tar"
	for _, args := range [][]string{
		{"git", "-C", root, "archive", "--output", archive, "--end-of-options", revision}, {"tar", "-x", "-C", dir, "-f", archive},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("faults: %q, for the old workers: %w\n%s", args, err, out)
		}
	}
	return dir, os.Remove(archive)
}

// buildNew builds the workers that a run ends with, from the options' Overlay or with the stepped clock if these are set.
func buildNew(ctx context.Context, to string, options Options, flags []string) error {
	if options.Overlay != "" {
		flags = append([]string{"-overlay", options.Overlay}, flags...)
	}
	if options.ClockSteps {
		list, err := steppedClock(ctx, to+"-clock")
		if err != nil {
			return err
		}
		flags = append([]string{"-overlay", list}, flags...)
	}
	return goBuild(ctx, to, module+"/worker", flags...)
}

func goBuild(ctx context.Context, to, pkg string, flags ...string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	args := append(append([]string{"build"}, flags...), "-o", to, pkg)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("faults: go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// moduleRoot returns the directory of the module's files.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("faults: where the module is: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
