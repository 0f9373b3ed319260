// A client program in Go: the leader election of Kubernetes' client-go as a lock, and a register in PostgreSQL.
//
// It implements the line protocol of docs/adapters.md. Its arguments are in README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

var errStale = errors.New("stale")

// errFailed: it certainly had no effect. Any other error: unknown.
var errFailed = errors.New("no effect")

type fields map[string]any

// request is a line of Fencepost; only the first one, start, has the settings.
type request struct {
	ID, Wait_ms, TTL_ms, Timeout_ms int64
	Op, Run, Resource, Owner, Value string
	Token                           *int64
	Lock, Storage                   *struct {
		Endpoints       []string
		TTL_ms          int64
		Token, Password string
		Fencing, Policy string
	}
}

var output sync.Mutex

func say(line fields) {
	output.Lock()
	defer output.Unlock()
	json.NewEncoder(os.Stdout).Encode(line)
}

// arguments returns what is given, such as {"work": "300ms", "delete": ""}.
func arguments() map[string]string {
	given := map[string]string{}
	for _, each := range os.Args[1:] {
		name, value, _ := strings.Cut(each, "=")
		given[name] = value
	}
	return given
}

// client has the side or both sides that Fencepost asks for.
type client struct {
	timeout      time.Duration
	releaseFirst bool
	leases       *leases
	register     *register
	writing      sync.RWMutex // held for reading during a write
}

func main() {
	given, c := arguments(), &client{timeout: 10 * time.Second}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked request
		if json.Unmarshal(lines.Bytes(), &asked) != nil {
			continue // no request
		}
		if asked.Op == "start" {
			c.answer(asked, c.start(asked, given), fields{"stop": true, "versions": versions()})
		} else {
			go c.handle(asked) // a stop comes while a write has no answer
		}
	}
}

func (c *client) start(asked request, given map[string]string) (err error) {
	c.timeout = time.Duration(asked.Timeout_ms) * time.Millisecond
	_, c.releaseFirst = given["release-first"]
	if asked.Lock != nil {
		if c.leases, err = newLeases(asked, given, c.timeout); err != nil {
			return err
		}
	}
	if asked.Storage != nil {
		c.register = &register{asked: asked}
		if work, is := given["work"]; is {
			c.register.work, err = time.ParseDuration(work)
		}
	}
	return err
}

func (c *client) handle(asked request) {
	answer, err := fields{}, error(nil)
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	switch asked.Op {
	case "acquire":
		err = c.leases.acquire(asked.Resource, asked.Owner, time.Duration(asked.Wait_ms)*time.Millisecond, answer)
	case "release":
		err = c.leases.release(asked.Owner)
	case "revoke":
		err = c.leases.revoke(ctx, asked.Resource, asked.Owner)
	case "stop":
		if !c.releaseFirst {
			c.writing.Lock() // until the write is complete
		}
		if asked.Owner != "" {
			err = c.leases.release(asked.Owner)
		}
	case "write":
		c.writing.RLock()
		err = c.register.write(ctx, asked)
		c.writing.RUnlock()
	case "read":
		answer["value"], answer["token"], err = c.register.read(ctx, asked.Resource)
	case "reconnect":
		if c.register != nil {
			c.register.reconnect()
		}
	default:
		err = errors.ErrUnsupported
	}
	c.answer(asked, err, answer)
}

func (c *client) answer(asked request, err error, answer fields) {
	answer["id"], answer["outcome"] = asked.ID, "ok"
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		answer["outcome"] = "unsupported"
	case errors.Is(err, errStale):
		answer["outcome"] = "stale"
	case errors.Is(err, errFailed):
		answer["outcome"], answer["reason"] = "failed", err.Error()
	case err != nil: // a timeout or a broken connection: it may have taken effect
		answer["outcome"], answer["reason"] = "unknown", err.Error()
	}
	say(answer)
}

func failed(reason string, values ...any) error {
	return fmt.Errorf("%w: %s", errFailed, fmt.Sprintf(reason, values...))
}
