package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const namespace = "default"

// leases is client-go's leader election, with a LeaderElector for each hold: to lead is to hold the lock.
type leases struct {
	client      coordination.CoordinationV1Interface
	ttl         time.Duration
	run         string
	transitions bool // the token is the Lease's count of leaders, not the resourceVersion
	deletes     bool
	guarded     bool

	state sync.Mutex
	terms map[string]*term // by owner
}

// term is the work of one LeaderElector, from its candidacy to its end.
type term struct {
	elector     *leaderelection.LeaderElector
	writes      *recorder
	cancel      context.CancelFunc
	leads, ends chan struct{} // closed when it does
}

func newLeases(start request, given map[string]string, timeout time.Duration) (*leases, error) {
	client, err := connect(start.Lock.Endpoints, start.Lock.Password, given["kubeconfig"], timeout)
	_, deletes := given["delete"]
	_, guarded := given["guarded"]
	return &leases{
		client:      client,
		ttl:         time.Duration(start.Lock.TTL_ms) * time.Millisecond,
		run:         strings.ToLower(start.Run),
		transitions: start.Lock.Token == "lease-transitions",
		deletes:     deletes,
		guarded:     guarded,
		terms:       map[string]*term{},
	}, err
}

func (l *leases) name(resource string) string { return "fencepost-" + l.run + "-" + resource }

// begin makes a candidate; an identity is used once, or the Lease would not count a new leader.
func (l *leases) begin(resource, owner string) (*term, error) {
	t := &term{leads: make(chan struct{}), ends: make(chan struct{})}
	labels := map[string]string{"fencepost": l.run} // to remove them by: nobody else does
	t.writes = &recorder{LeasesGetter: l.client, identity: owner, guarded: l.guarded, labels: labels, renewed: func(called int64) {
		say(fields{"event": "renewed", "resource": resource, "owner": owner,
			"ttl_ms": l.ttl.Milliseconds(), "called_ns": called})
	}}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: l.name(resource), Namespace: namespace},
			Client:     t.writes,
			LockConfig: resourcelock.ResourceLockConfig{Identity: owner},
		},
		LeaseDuration:   l.ttl,
		RenewDeadline:   l.ttl * 2 / 3, // client-go's own defaults are 15, 10 and 2 s
		RetryPeriod:     l.ttl / 8,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(t.leads) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, failed("%v", err)
	}
	t.elector = elector
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	go func() {
		elector.Run(ctx)
		close(t.ends)
	}()
	l.state.Lock()
	defer l.state.Unlock()
	l.terms[owner] = t
	return t, nil
}

func (l *leases) acquire(resource, owner string, wait time.Duration, answer fields) error {
	t, err := l.begin(resource, owner)
	if err != nil {
		return err
	}
	select {
	case <-t.leads:
	case <-time.After(wait):
		err := l.release(owner)
		if err == nil || errors.Is(err, errFailed) {
			return failed("not free in time")
		}
		return err
	}
	made, sent := t.writes.granted()
	if l.transitions {
		answer["token"] = *made.Spec.LeaseTransitions
	} else {
		answer["token"], err = strconv.ParseInt(made.ResourceVersion, 10, 64)
	}
	answer["ttl_ms"], answer["attempt_ns"] = l.ttl.Milliseconds(), sent
	return err
}

// release ends a term; client-go gives the Lease back then, and says what became of that only in its requests.
func (l *leases) release(owner string) error {
	l.state.Lock()
	t := l.terms[owner]
	delete(l.terms, owner)
	l.state.Unlock()
	if t == nil {
		return failed("not held")
	}
	t.cancel()
	<-t.ends // within the RenewDeadline
	made, err := t.writes.released()
	if err == nil && l.deletes {
		ctx, cancel := context.WithTimeout(context.Background(), l.ttl)
		defer cancel()
		same := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &made.ResourceVersion}}
		l.client.Leases(namespace).Delete(ctx, made.Name, same) // if nobody has taken it meanwhile
	}
	return err
}

// revoke takes back what an acquire without an answer may have got.
func (l *leases) revoke(ctx context.Context, resource, owner string) error {
	if err := l.release(owner); err == nil {
		return nil
	}
	found, err := l.client.Leases(namespace).Get(ctx, l.name(resource), metav1.GetOptions{})
	if err != nil || found.Spec.HolderIdentity == nil || *found.Spec.HolderIdentity != owner {
		return err
	}
	*found.Spec.HolderIdentity = ""
	_, err = l.client.Leases(namespace).Update(ctx, found, metav1.UpdateOptions{})
	return err
}
