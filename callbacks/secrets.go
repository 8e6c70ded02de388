package callbacks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jobwait/jobwait/activities"
)

// secretsFor is how long secrets are taken as they were read: a flood must not read files.
const secretsFor = 10 * time.Second

// secretsWithin is how long reading them may take: who sends webhooks meanwhile waits for it.
const secretsWithin = 5 * time.Second

// secrets are those of one endpoint, as they were read last.
type secrets struct {
	from   []activities.SecretSource
	usable func(secret string) error

	mu     sync.Mutex
	readAt time.Time
	values []string
}

// read reads them anew. Errors do not repeat a value.
func (s *secrets) read(ctx context.Context) ([]string, error) {
	values := make([]string, len(s.from))
	for i, from := range s.from {
		secret, err := from(ctx)
		if err != nil {
			return nil, fmt.Errorf("secret %d: %w", i+1, err)
		}
		values[i] = secret.Reveal()
		if err := s.usable(values[i]); err != nil {
			return nil, fmt.Errorf("secret %d: %w", i+1, err)
		}
	}
	return values, nil
}

// current are the secrets of now. Where they cannot be read, it is those from before, and the error. They are read for all who
// send webhooks: one who hangs up must not keep them from being read, or a secret that was replaced would stay good.
func (s *secrets) current(ctx context.Context, now time.Time) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.readAt) < secretsFor {
		return s.values, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), secretsWithin)
	defer cancel()
	values, err := s.read(ctx)
	s.readAt = now
	if err != nil {
		return s.values, err
	}
	s.values = values
	return values, nil
}
