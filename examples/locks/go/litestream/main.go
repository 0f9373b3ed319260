// Litestream's Leaser: an object in a bucket, put on conditions. The token is the generation of its lease.
package main

import (
	"context"
	"errors"
	"time"

	. "example.com/locks/protocol"
	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/s3"
)

type lock struct {
	leaser func(resource, owner string) *s3.Leaser
	held   map[string]*litestream.Lease // by owner; nil of an acquire without an answer
}

func (l *lock) Acquire(ctx context.Context, resource, owner string, wait time.Duration, answer Fields) error {
	leaser := l.leaser(resource, owner)
	sent, err := UntilGranted(wait, func() (granted bool, err error) {
		l.held[owner], err = leaser.AcquireLease(ctx)
		if errors.As(err, new(*litestream.LeaseExistsError)) {
			return false, nil
		}
		return err == nil, err
	})
	if err == nil {
		answer["token"] = l.held[owner].Generation
		answer["ttl_ms"], answer["attempt_ns"] = leaser.TTL.Milliseconds(), sent
	} else if errors.Is(err, ErrFailed) {
		delete(l.held, owner)
	}
	return err
}

// Release needs the ETag of the lease, which an acquire without an answer has not left.
func (l *lock) Release(ctx context.Context, resource, owner string) error {
	lease, held := l.held[owner]
	if held && lease == nil {
		return errors.ErrUnsupported
	} else if !held {
		return FailedIf(true, errors.New("not held"))
	}
	err := l.leaser(resource, owner).ReleaseLease(ctx, lease)
	lost := errors.Is(err, litestream.ErrLeaseNotHeld) || errors.Is(err, s3.ErrLeaseAlreadyReleased)
	if err == nil || lost {
		delete(l.held, owner)
	}
	return FailedIf(lost, err)
}

func (l *lock) Reconnect() error { return nil } // the client drops a connection after an error

func main() {
	Serve(Fields{"litestream": Version("github.com/benbjohnson/litestream")}, func(start Request) (Lock, error) {
		return &lock{leasers(start), map[string]*litestream.Lease{}}, nil
	})
}
