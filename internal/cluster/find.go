package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/internal/child"
)

const (
	module    = "github.com/jobwait/jobwait"
	toolsFile = "tools/cluster/go.mod"
	// envPostgres names the folder of PostgreSQL's programs; it wins over PATH and over where Debian puts them.
	envPostgres = "JOBWAIT_POSTGRES_BIN"
	// A cached build answers in a second or two: below this nobody is told.
	quietFor = 5 * time.Second
)

// Programs are the executables of a cluster.
type Programs struct {
	// Postgres is the folder of PostgreSQL's programs.
	Postgres string
	// Server and SchemaTool are Temporal's.
	Server, SchemaTool string
}

// Find finds PostgreSQL's programs, and Temporal's in the build that tools/cluster pins. Building them takes some minutes the first
// time; progress is told so, and may be nil.
func Find(ctx context.Context, progress io.Writer) (Programs, error) {
	postgres, err := findPostgres(os.Getenv(envPostgres), filepath.Glob)
	if err != nil {
		return Programs{}, err
	}
	if progress == nil {
		progress = io.Discard
	}
	slow := time.AfterFunc(quietFor, func() {
		_, _ = fmt.Fprintln(progress, "building Temporal's server (once): about 1 minute of downloads and 7 minutes of compiling...")
	})
	defer slow.Stop()
	found := Programs{Postgres: postgres}
	if found.Server, err = build(ctx, "go.temporal.io/server/cmd/server"); err != nil {
		return Programs{}, err
	}
	found.SchemaTool, err = build(ctx, "go.temporal.io/server/cmd/tools/sql")
	return found, err
}

// build lets the go command compile and cache a program, and returns its path.
func build(ctx context.Context, tool string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("cluster: where the checkout of %s is: %w", module, err)
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile="+toolsFile, "-n", tool)
	cmd.Dir = strings.TrimSpace(string(root))
	cmd.Env = append(cmd.Environ(), "GOWORK=off") // -modfile is refused inside a workspace
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cluster: building %s, which %s pins: %w\n%s", tool, toolsFile, err, complaint.String())
	}
	return strings.TrimSpace(string(path)), nil
}

// findPostgres prefers what it is told, then what is on PATH, then the newest of Debian's.
func findPostgres(told string, glob func(string) ([]string, error)) (string, error) {
	if told != "" {
		if missing := lacks(told); missing != nil {
			return "", fmt.Errorf("cluster: $%s: %w", envPostgres, missing)
		}
		return told, nil
	}
	installed, err := glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(installed, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("postgres"); err == nil {
		installed = append([]string{filepath.Dir(path)}, installed...)
	}
	for _, folder := range installed {
		if lacks(folder) == nil {
			return folder, nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("cluster: PostgreSQL is not installed: apt-get install postgresql, or set $%s to the folder of its programs", envPostgres))
}

// lacks says which of the programs that are needed is not in a folder.
func lacks(folder string) error {
	for _, program := range []string{"postgres", "initdb", "pg_isready"} {
		if _, err := os.Stat(filepath.Join(folder, program)); err != nil {
			return err
		}
	}
	return nil
}

// version is the number in /usr/lib/postgresql/15/bin.
func version(folder string) int {
	number, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return number
}

// postgresUser is who runs PostgreSQL, which refuses to be root: its own user for root, else this process's.
func postgresUser() (*child.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is a user's own account, see child.Command
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("cluster: PostgreSQL does not run as root, and: %w", err)
	}
	uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
	return &child.User{UID: uint32(uid), GID: uint32(gid)}, errors.Join(uidErr, gidErr)
}
