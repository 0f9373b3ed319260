package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	v1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// recorder sees every write of a LeaderElector: its outcome, and the Lease that it made.
type recorder struct {
	coordination.LeasesGetter
	identity string
	guarded  bool
	labels   map[string]string
	renewed  func(called int64)

	state sync.Mutex
	grant *v1.Lease // what its first write that took effect made
	sent  int64     // when that was sent: CLOCK_MONOTONIC in ns
	last  *v1.Lease // what its last write made
	err   error     // of its last write
	seen  int64     // the second of the last renewal that others can see
	read  string    // the holder of the Lease that was read last
}

// recorded is what a LeaderElector writes with.
type recorded struct {
	coordination.LeaseInterface
	recorder *recorder
}

func (r *recorder) Leases(namespace string) coordination.LeaseInterface {
	return recorded{r.LeasesGetter.Leases(namespace), r}
}

func (r recorded) Create(ctx context.Context, lease *v1.Lease, options metav1.CreateOptions) (*v1.Lease, error) {
	lease.Labels = r.recorder.labels
	return r.recorder.record(ctx, func(ctx context.Context) (*v1.Lease, error) {
		return r.LeaseInterface.Create(ctx, lease, options)
	})
}

func (r recorded) Get(ctx context.Context, name string, options metav1.GetOptions) (*v1.Lease, error) {
	found, err := r.LeaseInterface.Get(ctx, name, options)
	if err == nil {
		r.recorder.state.Lock()
		defer r.recorder.state.Unlock()
		r.recorder.read = holder(found)
	}
	return found, err
}

// Update gives back no Lease that was read as another's, if guarded: client-go reads it first, and does not look.
func (r recorded) Update(ctx context.Context, lease *v1.Lease, options metav1.UpdateOptions) (*v1.Lease, error) {
	return r.recorder.record(ctx, func(ctx context.Context) (*v1.Lease, error) {
		if other := r.recorder.holderRead(); r.recorder.guarded && holder(lease) == "" && other != r.recorder.identity {
			return nil, fmt.Errorf("the Lease is held by %q", other)
		}
		return r.LeaseInterface.Update(ctx, lease, options)
	})
}

func (r *recorder) record(
	ctx context.Context, write func(context.Context) (*v1.Lease, error),
) (*v1.Lease, error) {
	ctx, tries := counted(ctx)
	made, err := write(ctx)
	r.state.Lock()
	defer r.state.Unlock()
	r.err = tries.outcome(err)
	if err != nil {
		return made, err
	}
	r.last = made
	if r.grant == nil {
		r.grant, r.sent, r.seen = made, tries.sent, made.Spec.RenewTime.Unix()
	} else if holder(made) == r.identity {
		r.renew(made, tries.sent)
	}
	return made, nil
}

// renew reports a renewal that the other candidates notice: they compare RenewTime in whole seconds, and wait for
// a Lease from when they saw it change.
func (r *recorder) renew(made *v1.Lease, sent int64) {
	if !isTermOf(made, r.grant) {
		log.Printf("client-go took the Lease of %s again", r.identity)
	} else if second := made.Spec.RenewTime.Unix(); second != r.seen {
		r.seen = second
		r.renewed(sent)
	}
}

func (r *recorder) holderRead() string {
	r.state.Lock()
	defer r.state.Unlock()
	return r.read
}

// granted returns the Lease that made this candidate the leader, and when that request was sent.
func (r *recorder) granted() (*v1.Lease, int64) {
	r.state.Lock()
	defer r.state.Unlock()
	return r.grant, r.sent
}

// released returns the Lease that this leader gave back; an error if it did not, or if that is unknown.
func (r *recorder) released() (*v1.Lease, error) {
	r.state.Lock()
	defer r.state.Unlock()
	if r.err != nil {
		return nil, r.err
	} else if r.last == nil || holder(r.last) == r.identity {
		return nil, failed("client-go did not give the Lease back")
	}
	return r.last, nil
}

// isTermOf says that nobody else has led between two writes of one leader. A LeaderElector that lost its Lease
// takes it again when it is free, and tells nobody.
func isTermOf(renewed, granted *v1.Lease) bool {
	return renewed.UID == granted.UID && *renewed.Spec.LeaseTransitions == *granted.Spec.LeaseTransitions
}

func holder(lease *v1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
