// bsm/redislock on one Redis server. It has no fencing token.
package main

import (
	"context"
	"errors"
	"time"

	. "example.com/locks/protocol"
	"example.com/locks/redisserver"
	"github.com/bsm/redislock"
)

type lock struct {
	locks *redislock.Client
	ttl   time.Duration
	held  map[string]*redislock.Lock // by owner
}

func (l *lock) Acquire(ctx context.Context, resource, owner string, wait time.Duration, answer Fields) error {
	sent, err := UntilGranted(wait, func() (bool, error) {
		taken, err := l.locks.Obtain(ctx, "lock:"+resource, l.ttl, nil) // once
		if errors.Is(err, redislock.ErrNotObtained) {
			return false, nil
		}
		l.held[owner] = taken
		return err == nil, err
	})
	answer["token"], answer["ttl_ms"], answer["attempt_ns"] = nil, l.ttl.Milliseconds(), sent
	return err
}

// Release needs the random value of the lock, which an acquire without an answer has not left.
func (l *lock) Release(ctx context.Context, resource, owner string) error {
	taken, asked := l.held[owner]
	if asked && taken == nil {
		return errors.ErrUnsupported
	}
	err := taken.Release(ctx) // of no lock: it is not held
	return FailedIf(errors.Is(err, redislock.ErrLockNotHeld), err)
}

func (l *lock) Reconnect() error { return nil } // the client drops a connection after an error

func main() {
	versions := Fields{"redislock": Version("github.com/bsm/redislock")}
	Serve(versions, func(start Request) (Lock, error) {
		ttl := time.Duration(start.Lock.TTL_ms) * time.Millisecond
		return &lock{redislock.New(redisserver.Connect(start)), ttl, map[string]*redislock.Lock{}}, nil
	})
}
