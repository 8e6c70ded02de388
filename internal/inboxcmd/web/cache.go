package web

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// fresh is how long a list that was read counts as the present one. Visibility itself is behind by about as much.
	fresh = time.Second
	// maxCached bounds how many lists are kept for that long.
	maxCached = 500
)

// cache shares what was read a moment ago.
type cache[T any] struct {
	mu     sync.Mutex
	kept   map[string]kept[T]
	flight singleflight.Group
}

type kept[T any] struct {
	value T
	at    time.Time
}

func newCache[T any]() *cache[T] { return &cache[T]{kept: map[string]kept[T]{}} }

// get gives what is fresh, else reads, once for all who ask meanwhile.
func (c *cache[T]) get(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	if value, ok := c.fresh(key); ok {
		return value, nil
	}
	// Whoever asks first does not take the reading with them when they go.
	value, err, _ := c.flight.Do(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTimeout)
		defer cancel()
		value, err := read(ctx)
		if err == nil {
			c.keep(key, value)
		}
		return value, err
	})
	return value.(T), err
}

func (c *cache[T]) fresh(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept[key]
	return k.value, ok && time.Since(k.at) < fresh
}

func (c *cache[T]) keep(key string, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= maxCached {
		clear(c.kept)
	}
	c.kept[key] = kept[T]{value, time.Now()}
}
