// go-redsync on one Redis server. It has no fencing token.
package main

import (
	"context"
	"errors"
	"time"

	. "example.com/locks/protocol"
	"example.com/locks/redisserver"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

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
	sent, err := UntilGranted(wait, func() (bool, error) {
		err := l.mutex(resource, owner).TryLockContext(ctx)
		if isTaken(err) {
			return false, nil
		}
		return err == nil, err
	})
	answer["token"], answer["attempt_ns"] = nil, sent
	answer["ttl_ms"] = l.ttl.Milliseconds() * 99 / 100 // less redsync's 1 % for the drift of clocks
	return err
}

func (l *lock) Release(ctx context.Context, resource, owner string) error {
	_, err := l.mutex(resource, owner).UnlockContext(ctx)
	return FailedIf(isTaken(err) || errors.Is(err, redsync.ErrLockAlreadyExpired), err)
}

func isTaken(err error) bool { return errors.As(err, new(*redsync.ErrTaken)) }

func (l *lock) Reconnect() error { return nil } // the client drops a connection after an error

func main() {
	versions := Fields{"redsync": Version("github.com/go-redsync/redsync/v4")}
	Serve(versions, func(start Request) (Lock, error) {
		return &lock{redisserver.Connect(start), time.Duration(start.Lock.TTL_ms) * time.Millisecond}, nil
	})
}
