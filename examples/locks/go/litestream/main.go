// Litestream's Leaser: an object in a bucket, put on conditions. The token is the generation of its lease.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	. "example.com/locks/protocol"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/benbjohnson/litestream"
	leases "github.com/benbjohnson/litestream/s3"
)

const bucket, key = "fencepost", "fencepost" // Fencepost's own server has this bucket and takes this key

type lock struct {
	client *s3.Client
	http   *http.Client
	ttl    time.Duration
	held   map[string]*litestream.Lease // by owner; nil of an acquire without an answer
}

func (l *lock) leaser(resource, owner string) *leases.Leaser {
	leaser := leases.NewLeaser()
	leaser.SetLogger(slog.New(slog.DiscardHandler))
	leaser.SetClient(l.client)
	leaser.Bucket, leaser.Path, leaser.Owner, leaser.TTL = bucket, "lock/"+resource, owner, l.ttl
	return leaser
}

func (l *lock) Acquire(ctx context.Context, resource, owner string, wait time.Duration, answer Fields) error {
	l.held[owner] = nil
	sent, err := UntilGranted(wait, func() (bool, error) {
		lease, err := l.leaser(resource, owner).AcquireLease(ctx)
		if errors.As(err, new(*litestream.LeaseExistsError)) {
			return false, nil
		}
		if err == nil {
			l.held[owner], answer["token"] = lease, lease.Generation
		}
		return err == nil, err
	})
	if errors.Is(err, ErrFailed) {
		delete(l.held, owner)
	}
	answer["attempt_ns"], answer["ttl_ms"] = sent, l.ttl.Milliseconds()
	return err
}

// Release needs the ETag of the lease, which an acquire without an answer has not left.
func (l *lock) Release(ctx context.Context, resource, owner string) error {
	lease, held := l.held[owner]
	if !held {
		return FailedIf(true, errors.New("not held"))
	} else if lease == nil {
		return errors.ErrUnsupported
	}
	err := l.leaser(resource, owner).ReleaseLease(ctx, lease)
	lost := errors.Is(err, litestream.ErrLeaseNotHeld) || errors.Is(err, leases.ErrLeaseAlreadyReleased)
	if err == nil || lost {
		delete(l.held, owner)
	}
	return FailedIf(lost, err)
}

func (l *lock) Reconnect() error {
	l.http.CloseIdleConnections()
	return nil
}

func main() {
	versions := Fields{"litestream": Version("github.com/benbjohnson/litestream")}
	Serve(versions, func(start Request) (Lock, error) {
		client := &http.Client{Timeout: time.Duration(start.Timeout_ms) * time.Millisecond, Transport: &http.Transport{}}
		return &lock{s3.New(s3.Options{
			BaseEndpoint: aws.String("http://" + start.Lock.Endpoints[0]), UsePathStyle: true, Region: "us-east-1",
			Credentials: credentials.NewStaticCredentialsProvider(key, key, ""), HTTPClient: client, RetryMaxAttempts: 1,
		}), client, time.Duration(start.Lock.TTL_ms) * time.Millisecond, map[string]*litestream.Lease{}}, nil
	})
}
