// River on PostgreSQL: a job that takes longer than `ttl_ms` counts as stuck, and is executed again. The token is
// the number of the attempt.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type args struct {
	Job string `json:"job"`
}

func (args) Kind() string { return "execute" }

type riverQueue struct {
	river.WorkerDefaults[args]
	client *river.Client[pgx.Tx]
	begun  chan handler
	taken  map[string]handler
}

// Work executes a job until it is completed.
func (q *riverQueue) Work(_ context.Context, job *river.Job[args]) error {
	mine := handler{job.Args.Job, job.Attempt, make(chan error, 1)}
	q.begun <- mine
	return <-mine.done
}

func (q *riverQueue) submit(ctx context.Context, job string, due time.Duration) error {
	options := &river.InsertOpts{}
	if due > 0 { // or it would wait for the library's scheduler, which looks every 5 s
		options.ScheduledAt = time.Now().Add(due)
	}
	_, err := q.client.Insert(ctx, args{job}, options)
	return err
}

func (q *riverQueue) take(wait time.Duration, answer fields) error {
	select {
	case mine := <-q.begun:
		q.taken[mine.job] = mine
		answer["job"], answer["token"] = mine.job, mine.attempt
		return nil
	case <-time.After(wait):
		return fmt.Errorf("%w: no job came in time", errFailed)
	}
}

// complete waits until the client has stored how the job ended.
func (q *riverQueue) complete(ctx context.Context, job string, failed bool) error {
	mine, found := q.taken[job]
	if !found {
		return fmt.Errorf("%w: this worker does not execute it", errFailed)
	}
	delete(q.taken, job)
	events, cancel := q.client.Subscribe(river.EventKindJobCompleted, river.EventKindJobFailed)
	defer cancel()
	if failed {
		mine.done <- errors.New("the job failed")
	} else {
		mine.done <- nil
	}
	select {
	case <-events: // it executes one job at a time
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func connect(ctx context.Context, start request) (queue, error) {
	address := fmt.Sprintf("postgres://fencepost:%s@%s/fencepost", start.Lock.Password, start.Lock.Endpoints[0])
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, pool); err != nil {
		return nil, err
	}
	q := &riverQueue{begun: make(chan handler), taken: map[string]handler{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, q)
	lease := time.Duration(start.Lock.TTL_ms) * time.Millisecond
	q.client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:               map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}},
		Workers:              workers,
		JobTimeout:           lease,
		Logger:               slog.New(slog.NewTextHandler(os.Stderr, nil)), // the answers go to stdout
		RescueStuckJobsAfter: lease,
	})
	if err != nil {
		return nil, err
	}
	return q, q.client.Start(context.Background())
}

// migrate makes the library's tables, one client after the other.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	session, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer session.Release()
	if _, err := session.Exec(ctx, "SELECT pg_advisory_lock(1)"); err != nil {
		return err
	}
	defer session.Exec(ctx, "SELECT pg_advisory_unlock(1)")
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func main() {
	versions := fields{}
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == "github.com/riverqueue/river" {
			versions["river"] = each.Version
		}
	}
	serve(versions, connect)
}
