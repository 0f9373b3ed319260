// go-redsync on one Redis server. It has no fencing token.
package main

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	. "example.com/locks/protocol"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

const retry = 20 * time.Millisecond

type lock struct {
	redis *redis.Client
	ttl   time.Duration
}

func (l *lock) mutex(resource, owner string) *redsync.Mutex {
	value := func() (string, error) { return owner, nil }
	return redsync.New(goredis.NewPool(l.redis)).NewMutex("lock:"+resource,
		redsync.WithExpiry(l.ttl), redsync.WithValue(owner), redsync.WithGenValueFunc(value))
}

func (l *lock) Acquire(ctx context.Context, resource, owner string, wait time.Duration, answer Fields) error {
	ends := time.Now().Add(wait)
	for {
		var sent unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &sent) // redsync's own tries would hide it
		err := l.mutex(resource, owner).TryLockContext(ctx)
		if err == nil {
			answer["token"], answer["attempt_ns"] = nil, sent.Nano()
			answer["ttl_ms"] = l.ttl.Milliseconds() * 99 / 100 // less redsync's 1 % for the drift of clocks
			return nil
		}
		if taken := new(redsync.ErrTaken); !errors.As(err, &taken) {
			return err
		}
		if time.Now().Add(retry).After(ends) {
			return Failed{Why: err}
		}
		time.Sleep(retry)
	}
}

func (l *lock) Release(ctx context.Context, resource, owner string) error {
	_, err := l.mutex(resource, owner).UnlockContext(ctx)
	if taken := new(redsync.ErrTaken); errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return Failed{Why: err}
	}
	return err
}

func (l *lock) Revoke(ctx context.Context, resource, owner string) error {
	return l.Release(ctx, resource, owner)
}

func (l *lock) Reconnect() error { return nil } // go-redis drops a connection after an error

func main() {
	info, _ := debug.ReadBuildInfo()
	versions := Fields{}
	for _, module := range info.Deps {
		if module.Path == "github.com/go-redsync/redsync/v4" {
			versions["redsync"] = module.Version
		}
	}
	Serve(versions, func(start Request) (Lock, error) {
		timeout := time.Duration(start.Timeout_ms) * time.Millisecond
		return &lock{redis.NewClient(&redis.Options{
			Addr: start.Lock.Endpoints[0], Password: start.Lock.Password, MaxRetries: -1,
			DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, ContextTimeoutEnabled: true,
		}), time.Duration(start.Lock.TTL_ms) * time.Millisecond}, nil
	})
}
