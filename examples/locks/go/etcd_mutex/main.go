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
		return FailedIf(true, err) // a lease without a key locks nothing
	}
	m.leases[owner] = lease.ID
	session, err := concurrency.NewSession(m.client, concurrency.WithLease(lease.ID))
	if err != nil {
		return FailedIf(true, err)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	lock := concurrency.NewMutex(session, "locks/"+resource)
	err = Within(ctx, func() error { return lock.Lock(waiting) }) // after an error it deletes its key
	if err != nil {
		session.Orphan()
		return FailedIf(m.Release(ctx, resource, owner) == nil, err) // its key has gone with its lease
	}
	answer["token"] = lock.IsOwner().TargetUnion.(*etcdserverpb.Compare_CreateRevision).CreateRevision
	answer["ttl_ms"] = nil // the session renews its lease without our knowledge
	return nil
}

func (m *mutex) Release(ctx context.Context, resource, owner string) error {
	_, err := m.client.Revoke(ctx, m.leases[owner])
	return FailedIf(errors.Is(err, rpctypes.ErrLeaseNotFound), err)
}

func (m *mutex) Reconnect() error { return nil } // etcd's client replaces its connections by itself

func main() {
	Serve(Fields{"etcd client": version.Version}, func(start Request) (Lock, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: start.Lock.Endpoints})
		return &mutex{client, start.Lock.TTL_ms / 1000, map[string]clientv3.LeaseID{}}, err
	})
}
