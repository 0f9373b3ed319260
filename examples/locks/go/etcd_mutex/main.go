// concurrency.Mutex of etcd's client library; its token is the create revision of its key.
package main

import (
	"context"
	"errors"
	"time"

	. "example.com/locks/protocol"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

type mutex struct {
	client *clientv3.Client
	ttl    int64                       // seconds
	leases map[string]clientv3.LeaseID // by owner; one for each hold, so that its end frees the lock
}

func (m *mutex) Acquire(ctx context.Context, resource, owner string, wait time.Duration, answer Fields) error {
	lease, err := m.client.Grant(ctx, m.ttl)
	if err != nil {
		return Failed{Why: err} // a lease without a key locks nothing
	}
	m.leases[owner] = lease.ID
	session, err := concurrency.NewSession(m.client, concurrency.WithLease(lease.ID))
	if err != nil {
		return Failed{Why: err}
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	lock := concurrency.NewMutex(session, "locks/"+resource)
	locked := make(chan error, 1)
	go func() { locked <- lock.Lock(waiting) }() // after an error it deletes its key, without a deadline
	select {
	case err = <-locked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		session.Orphan()
		if m.Revoke(ctx, resource, owner) == nil {
			return Failed{Why: err} // its key has gone with its lease
		}
		return err
	}
	answer["token"] = lock.IsOwner().TargetUnion.(*etcdserverpb.Compare_CreateRevision).CreateRevision
	answer["ttl_ms"] = nil // the session renews its lease without our knowledge
	return nil
}

func (m *mutex) Release(ctx context.Context, resource, owner string) error {
	_, err := m.client.Revoke(ctx, m.leases[owner])
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return Failed{Why: err}
	}
	return err
}

func (m *mutex) Revoke(ctx context.Context, resource, owner string) error {
	return m.Release(ctx, resource, owner)
}

func (m *mutex) Reconnect() error { return nil } // etcd's client replaces its connections by itself

func main() {
	Serve(Fields{"etcd client": version.Version}, func(start Request) (Lock, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: start.Lock.Endpoints})
		return &mutex{client, start.Lock.TTL_ms / 1000, map[string]clientv3.LeaseID{}}, err
	})
}
