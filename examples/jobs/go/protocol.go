package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"
)

// errFailed: it certainly has no effect. Any other error: unknown.
var errFailed = errors.New("no effect")

type fields map[string]any

// request is a line of Fencepost; only the first one, start, has the settings.
type request struct {
	ID, Wait_ms, Due_ms, Timeout_ms int64
	Op, Resource, Job               string
	Failed                          bool
	Lock                            struct {
		Endpoints []string
		TTL_ms    int64
		Password  string
	}
}

// queue is a library that executes jobs; each method has to return when its context ends.
type queue interface {
	submit(ctx context.Context, job string, due time.Duration) error
	take(wait time.Duration, answer fields) error // adds job and token to the answer
	complete(ctx context.Context, job string, failed bool) error
}

// handler is one that a library has called: it returns once Fencepost has completed its job.
type handler struct {
	job     string
	attempt int
	done    chan error
}

// serve answers requests until standard input ends.
func serve(versions fields, connect func(context.Context, request) (queue, error)) {
	input, output := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	jobs, timeout := queue(nil), 10*time.Second
	for input.Scan() {
		var asked request
		if json.Unmarshal(input.Bytes(), &asked) != nil {
			continue // no request
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		answer, err := fields{"id": asked.ID, "outcome": "ok"}, errors.ErrUnsupported
		switch asked.Op {
		case "start":
			timeout = time.Duration(asked.Timeout_ms) * time.Millisecond
			answer["versions"] = versions
			jobs, err = connect(ctx, asked)
		case "submit":
			err = jobs.submit(ctx, asked.Job, time.Duration(asked.Due_ms)*time.Millisecond)
		case "take":
			err = jobs.take(time.Duration(asked.Wait_ms)*time.Millisecond, answer)
		case "complete":
			err = jobs.complete(ctx, asked.Job, asked.Failed)
		case "reconnect":
			err = nil // the library connects again by itself
		}
		cancel()
		if errors.Is(err, errors.ErrUnsupported) {
			answer["outcome"] = "unsupported"
		} else if errors.Is(err, errFailed) {
			answer["outcome"], answer["reason"] = "failed", err.Error()
		} else if err != nil {
			answer["outcome"], answer["reason"] = "unknown", err.Error()
		}
		output.Encode(answer)
	}
}
