// Package protocol speaks the line protocol of docs/adapters.md: an adapter implements Lock and calls Serve.
package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"
)

// ErrFailed: it certainly has no effect. errors.ErrUnsupported: it is not implemented. Any other error: unknown.
var ErrFailed = errors.New("no effect")

// Fields are those of a line.
type Fields map[string]any

// Request is a line of Fencepost; only the first one, start, has the settings.
type Request struct {
	ID, Wait_ms, Timeout_ms int64
	Op, Resource, Owner     string
	Lock                    struct {
		Endpoints []string
		TTL_ms    int64
		Password  string
	}
}

// Lock is a lock library; each method has to return when its context ends.
type Lock interface {
	// Acquire adds token, ttl_ms and, if it is known, attempt_ns to the answer.
	Acquire(ctx context.Context, resource, owner string, wait time.Duration, answer Fields) error
	// Release ends this owner's hold; it also revokes an acquire whose outcome is unknown.
	Release(ctx context.Context, resource, owner string) error
	Reconnect() error
}

var input, output = bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)

// Serve answers requests until standard input ends.
func Serve(versions Fields, connect func(Request) (Lock, error)) {
	lock, timeout := Lock(nil), time.Duration(0)
	for input.Scan() {
		var asked Request
		if json.Unmarshal(input.Bytes(), &asked) != nil {
			continue // no request
		}
		wait := time.Duration(asked.Wait_ms) * time.Millisecond
		ctx, cancel := context.WithTimeout(context.Background(), max(timeout, wait+timeout/2))
		answer, err := Fields{"id": asked.ID, "outcome": "ok"}, errors.ErrUnsupported
		switch asked.Op {
		case "start":
			timeout = time.Duration(asked.Timeout_ms) * time.Millisecond
			answer["versions"], answer["stop"] = versions, true
			lock, err = connect(asked)
		case "acquire":
			err = lock.Acquire(ctx, asked.Resource, asked.Owner, wait, answer)
		case "release", "revoke", "stop":
			if err = nil; asked.Owner != "" { // a stop names none if nothing is held
				err = lock.Release(ctx, asked.Resource, asked.Owner)
			}
		case "reconnect":
			err = lock.Reconnect()
		}
		cancel()
		if errors.Is(err, errors.ErrUnsupported) {
			answer["outcome"] = "unsupported"
		} else if errors.Is(err, ErrFailed) {
			answer["outcome"], answer["reason"] = "failed", err.Error()
		} else if err != nil {
			answer["outcome"], answer["reason"] = "unknown", err.Error()
		}
		output.Encode(answer)
	}
}
