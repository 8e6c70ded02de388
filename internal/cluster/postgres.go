package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jobwait/jobwait/internal/child"
)

const (
	dbUser = "temporal"
	// It recovers in a second or two; a loaded machine gets more.
	dbPatience = time.Minute
	checkEvery = 100 * time.Millisecond
)

// postgres is a PostgreSQL server with a data directory of its own.
type postgres struct {
	programs string
	dir      string
	port     int
	password string
	user     *child.User
	log      *os.File
	running  *child.Process
}

func (p *postgres) data() string { return filepath.Join(p.dir, "pg") }

func (p *postgres) passwordFile() string { return filepath.Join(p.dir, "password") }

// prepare makes the data directory, unless an earlier cluster has left one there.
func (p *postgres) prepare(ctx context.Context) error {
	if text, err := os.ReadFile(p.passwordFile()); err == nil {
		p.password = string(text)
		return nil
	}
	p.password = rand.Text()
	if err := os.Mkdir(p.data(), 0o700); err != nil {
		return err
	}
	if err := p.initialize(ctx); err != nil {
		return err
	}
	return os.WriteFile(p.passwordFile(), []byte(p.password), 0o600)
}

// initialize hands the password over in a file beside the data, because initdb wants the data's directory to be empty.
func (p *postgres) initialize(ctx context.Context) error {
	given := filepath.Join(p.dir, "pg-password")
	if err := os.WriteFile(given, []byte(p.password), 0o600); err != nil {
		return err
	}
	defer os.Remove(given)
	for _, path := range []string{given, p.data()} {
		if err := p.give(path); err != nil {
			return err
		}
	}
	done, err := child.Start(child.Command{
		Path: filepath.Join(p.programs, "initdb"), Dir: "/", User: p.user, Log: p.log,
		Args: []string{"-D", p.data(), "-U", dbUser, "-A", "scram-sha-256", "--pwfile=" + given, "-E", "UTF8", "--locale=C.UTF-8"},
	})
	if err != nil {
		return err
	}
	select {
	case <-done.Ended():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), done.Kill())
	}
	if _, err := os.Stat(filepath.Join(p.data(), "PG_VERSION")); err != nil {
		return fmt.Errorf("cluster: initdb made no database in %s, which its user has to be able to enter; its last words:\n%s", p.data(), lastWords(p.log))
	}
	return nil
}

func (p *postgres) give(path string) error {
	if p.user == nil {
		return nil
	}
	return os.Chown(path, int(p.user.UID), int(p.user.GID))
}

// start starts the server, which recovers first after a crash, and returns once it takes connections. What a killed server had in
// shared memory is in its successor's way until its last process has gone: it is started again then.
func (p *postgres) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dbPatience)
	defer cancel()
	for {
		if err := p.launch(); err != nil {
			return err
		}
		switch err := p.awaitReady(ctx); {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(err, p.running.Kill())
		}
		pause(ctx, time.Second)
	}
}

func (p *postgres) launch() (err error) {
	p.running, err = child.Start(child.Command{
		Path: filepath.Join(p.programs, "postgres"), Dir: "/", User: p.user, Log: p.log, OnDeath: syscall.SIGQUIT,
		Args: []string{
			"-D", p.data(), "-p", strconv.Itoa(p.port), "-c", "listen_addresses=" + host, "-c", "unix_socket_directories=", "-c", "max_connections=200",
		},
	})
	return err
}

var errEnded = errors.New("cluster: PostgreSQL has ended by itself; see its log")

func (p *postgres) awaitReady(ctx context.Context) error {
	for {
		ask := exec.CommandContext(ctx, filepath.Join(p.programs, "pg_isready"), "-q", "-h", host, "-p", strconv.Itoa(p.port))
		if ask.Run() == nil && p.running.Runs() {
			return nil
		}
		select {
		case <-p.running.Ended():
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("cluster: PostgreSQL does not take connections: %w; its last words:\n%s", ctx.Err(), lastWords(p.log))
		case <-time.After(checkEvery):
		}
	}
}

// crash is what `pg_ctl stop -m immediate` does: every process goes at once and nothing is written, so that the next start recovers.
func (p *postgres) crash() error { return p.running.Stop(syscall.SIGQUIT, dbPatience) }

// kill ends the first process alone, as the kernel does when memory is short; the others notice.
func (p *postgres) kill() error { return p.running.Kill() }

// stop disconnects everybody and writes everything.
func (p *postgres) stop() error {
	if p.running == nil {
		return nil
	}
	return p.running.Stop(syscall.SIGINT, dbPatience)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
