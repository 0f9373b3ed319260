package main

import (
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const pause = 500 * time.Millisecond // between two attempts to unlock, and between renewals

type hold struct {
	resource string
	mutex    *concurrency.Mutex
	token    int64
}

// lock is concurrency.Mutex, with one session for all its holds.
type lock struct {
	client  *clientv3.Client
	ttl     int // ms
	timeout time.Duration
	guarded bool

	state   sync.Mutex // of the two below, which the renewals read
	session *concurrency.Session
	held    map[string]hold // by owner
}

func newLock(endpoints []string, ttl int, timeout time.Duration, guarded bool) *lock {
	l := &lock{client: connect(endpoints, timeout), ttl: ttl, timeout: timeout, guarded: guarded}
	l.held = map[string]hold{}
	go l.renew()
	return l
}

func (l *lock) acquire(resource, owner string, wait time.Duration, answer fields) error {
	session, err := l.current()
	if err != nil {
		return err
	}
	mutex := concurrency.NewMutex(session, "locks/"+resource)
	ctx, cancel := within(wait)
	defer cancel()
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	say(fields{"event": "granted"}) // the token is still to be read: a fault may stop us here
	ctx, cancel = within(l.timeout)
	defer cancel()
	attempt := monotonic()
	if _, err := l.client.KeepAliveOnce(ctx, session.Lease()); err != nil {
		return err
	}
	found, err := l.client.Get(ctx, mutex.Key())
	if err != nil {
		return err
	}
	if len(found.Kvs) == 0 {
		return failed{"lost before its token was known"}
	}
	l.state.Lock()
	defer l.state.Unlock()
	token := found.Kvs[0].CreateRevision
	l.held[owner] = hold{resource, mutex, token}
	answer["token"], answer["ttl_ms"], answer["attempt_ns"] = token, l.ttl, attempt
	return nil
}

// owns says that the hold with a token still has its lock, to be checked in a transaction.
func (l *lock) owns(resource string, token int64) clientv3.Cmp {
	l.state.Lock()
	defer l.state.Unlock()
	for _, each := range l.held {
		if each.resource == resource && each.token == token {
			return each.mutex.IsOwner()
		}
	}
	return clientv3.Compare(clientv3.Version("locks/"+resource), "<", 0) // never: not held
}

// current returns the session, or a new one if the last one's lease has ended.
func (l *lock) current() (*concurrency.Session, error) {
	if l.session != nil {
		select {
		case <-l.session.Done():
		default:
			return l.session, nil
		}
	}
	ctx, cancel := within(l.timeout)
	defer cancel()
	lease, err := l.client.Grant(ctx, int64(l.ttl/1000))
	if err != nil {
		return nil, failed{err.Error()} // a lease without a key locks nothing
	}
	session, err := concurrency.NewSession(l.client, concurrency.WithLease(lease.ID))
	if err != nil {
		return nil, failed{err.Error()}
	}
	l.state.Lock()
	defer l.state.Unlock()
	l.session = session
	return session, nil
}

func (l *lock) release(owner string) error {
	mutex := l.forget(owner)
	if mutex == nil {
		return failed{"not held"}
	}
	err := l.unlock(mutex)
	if err != nil {
		go func() {
			for err := err; err != nil; err = l.unlock(mutex) {
				time.Sleep(pause)
			}
		}()
	}
	return err
}

func (l *lock) unlock(mutex *concurrency.Mutex) error {
	ctx, cancel := within(l.timeout)
	defer cancel()
	if !l.guarded {
		return mutex.Unlock(ctx)
	}
	_, err := l.client.Txn(ctx).If(mutex.IsOwner()).Then(clientv3.OpDelete(mutex.Key())).Commit()
	return err
}

// revoke frees what an acquire without an answer may hold: it ends the session with all its keys.
func (l *lock) revoke(owner string) error {
	l.forget(owner)
	l.state.Lock()
	session := l.session
	l.session = nil
	l.state.Unlock()
	if session == nil {
		return nil
	}
	session.Orphan()
	ctx, cancel := within(l.timeout)
	defer cancel()
	_, err := l.client.Revoke(ctx, session.Lease())
	return err
}

func (l *lock) forget(owner string) *concurrency.Mutex {
	l.state.Lock()
	defer l.state.Unlock()
	held := l.held[owner]
	delete(l.held, owner)
	return held.mutex
}

// renew renews the session's lease, and reports it for each hold.
func (l *lock) renew() {
	for range time.Tick(pause) {
		l.state.Lock()
		session, held := l.session, map[string]hold{}
		for owner, each := range l.held {
			held[owner] = each
		}
		l.state.Unlock()
		if session == nil {
			continue
		}
		ctx, cancel := within(l.timeout)
		called := monotonic()
		_, err := l.client.KeepAliveOnce(ctx, session.Lease())
		cancel()
		if err != nil {
			continue
		}
		for owner, each := range held {
			say(fields{"event": "renewed", "resource": each.resource, "owner": owner, "ttl_ms": l.ttl, "called_ns": called})
		}
	}
}
