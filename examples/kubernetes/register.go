package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const write = `
WITH written AS (
    UPDATE register SET value = $3, token = $2, mark = $2
    WHERE resource = $1 AND ($4 OR mark < $2 OR $5 AND mark = $2) RETURNING resource, token, value
)
INSERT INTO audit (resource, token, value) SELECT resource, token, value FROM written`

// register is a row for each resource; one statement compares the token, writes, and logs what it wrote.
type register struct {
	asked request       // start
	work  time.Duration // the longest time that a job takes; the shortest is a quarter of it

	state      sync.Mutex
	connection *pgx.Conn
}

// write is a transaction that works before it writes, as a job does: a stop may come meanwhile.
func (r *register) write(ctx context.Context, asked request) error {
	at, err := r.connected(ctx)
	if err != nil {
		return err
	}
	job, err := at.Begin(ctx)
	if err != nil {
		return failed("not begun: %v", err)
	}
	defer job.Rollback(ctx) // of no effect after the commit
	say(fields{"id": asked.ID, "event": "sent"})
	time.Sleep(r.work/4 + rand.N(3*r.work/4+1))
	unfenced, inclusive := r.asked.Storage.Fencing == "none", r.asked.Storage.Policy == "inclusive"
	done, err := job.Exec(ctx, write, asked.Resource, asked.Token, asked.Value, unfenced, inclusive)
	if err != nil {
		return failed("not committed: %v", err)
	} else if done.RowsAffected() == 1 {
		return certain(job.Commit(ctx))
	}
	var rows int
	err = job.QueryRow(ctx, "SELECT count(*) FROM register WHERE resource = $1", asked.Resource).Scan(&rows)
	if err == nil && rows == 1 {
		return errStale
	}
	return failed("no row for %s: %v", asked.Resource, err)
}

func (r *register) read(ctx context.Context, resource string) (value *string, token *int64, err error) {
	at, err := r.connected(ctx)
	if err != nil {
		return nil, nil, err
	}
	err = at.QueryRow(ctx, "SELECT value, token FROM register WHERE resource = $1", resource).Scan(&value, &token)
	return value, token, certain(err)
}

func (r *register) connected(ctx context.Context) (*pgx.Conn, error) {
	r.state.Lock()
	defer r.state.Unlock()
	if r.connection == nil || r.connection.IsClosed() {
		login := "postgres://fencepost:%s@%s/fencepost?sslmode=disable"
		made, err := pgx.Connect(ctx, fmt.Sprintf(login, r.asked.Storage.Password, r.asked.Storage.Endpoints[0]))
		if err != nil {
			return nil, failed("not connected: %v", err)
		}
		r.connection = made
	}
	return r.connection, nil
}

func (r *register) reconnect() {
	r.state.Lock()
	defer r.state.Unlock()
	r.connection = nil // an unanswered request may still use it; a deadline closes it
}

// certain marks an error of PostgreSQL itself as failed: it has rolled the statement back.
func certain(err error) error {
	var said *pgconn.PgError
	if errors.As(err, &said) && said.SeverityUnlocalized == "ERROR" && said.Code != "40003" {
		return failed("%s", said.Message)
	}
	return err
}
