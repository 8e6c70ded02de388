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
	// usable is how long it is shown while it is read anew: nobody waits for a visibility that is slow for a moment, and live
	// updates put the page right.
	usable = 10 * time.Second
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

// usable gives what is fresh or was a moment ago, in which case it is read behind the back of whoever asks; else it reads.
func (c *cache[T]) usable(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	value, age, ok := c.last(key)
	switch {
	case !ok || age >= usable:
		return c.get(ctx, key, read)
	case age >= fresh:
		go func() { _, _ = c.get(context.WithoutCancel(ctx), key, read) }() // an error leaves what there is
	}
	return value, nil
}

// get gives what is fresh, else reads, once for all who ask meanwhile.
func (c *cache[T]) get(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	if value, age, ok := c.last(key); ok && age < fresh {
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

// last is what was read last, and how long ago.
func (c *cache[T]) last(key string) (value T, age time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept[key]
	return k.value, time.Since(k.at), ok
}

// forget has everything read anew.
func (c *cache[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.kept)
}

func (c *cache[T]) keep(key string, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= maxCached {
		clear(c.kept)
	}
	c.kept[key] = kept[T]{value, time.Now()}
}
