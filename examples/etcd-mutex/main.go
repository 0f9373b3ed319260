// A client program in Go: concurrency.Mutex of etcd's own client library, and a register in etcd.
//
// It implements the line protocol of docs/adapters.md: it reads one JSON object per line from
// standard input, and answers each with one on standard output. An Unlock without an answer is
// repeated in the background, as many programs do. Mutex.Unlock deletes its key by name, and the
// next Mutex of the same session has a key of the same name: the repeated Unlock deletes that one.
// With the argument "guarded", the key is deleted only if the old Mutex still owns it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

var errStale = errors.New("stale")

// failed says that a request certainly had no effect.
type failed struct{ reason string }

func (f failed) Error() string { return f.reason }

type request struct {
	ID       int    `json:"id"`
	Op       string `json:"op"`
	Resource string `json:"resource"`
	Owner    string `json:"owner"`
	WaitMs   int    `json:"wait_ms"`
	Token    int64  `json:"token"`
	Value    string `json:"value"`
	Timeout  int    `json:"timeout_ms"`
	Lock     struct {
		Endpoints []string `json:"endpoints"`
		TTL       int      `json:"ttl_ms"`
	} `json:"lock"`
	Storage struct {
		Endpoints []string `json:"endpoints"`
		Fencing   string   `json:"fencing"`
	} `json:"storage"`
}

type fields map[string]any

var output sync.Mutex

func say(line fields) {
	output.Lock()
	defer output.Unlock()
	json.NewEncoder(os.Stdout).Encode(line)
}

func main() {
	var lock *lock
	var register *register
	var ownerOnly bool // the storage is the lock's own etcd: a transaction checks the lock itself
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		answer := fields{"outcome": "ok"}
		var err error
		switch asked.Op {
		case "start":
			timeout := time.Duration(asked.Timeout) * time.Millisecond
			lock = newLock(asked.Lock.Endpoints, asked.Lock.TTL, timeout, slices.Contains(os.Args, "guarded"))
			register = newRegister(asked.Storage.Endpoints, timeout)
			ownerOnly = asked.Storage.Fencing == "lock-key"
		case "acquire":
			err = lock.acquire(asked.Resource, asked.Owner, time.Duration(asked.WaitMs)*time.Millisecond, answer)
		case "release":
			err = lock.release(asked.Owner)
		case "revoke":
			err = lock.revoke(asked.Owner)
		case "write":
			fence := register.newer(asked.Resource, asked.Token)
			if ownerOnly {
				fence = lock.owns(asked.Resource, asked.Token)
			}
			err = register.write(asked.Resource, asked.Token, asked.Value, fence)
		case "read":
			answer["value"], answer["token"], err = register.read(asked.Resource)
		case "reconnect": // etcd's client replaces its connections by itself
		default:
			answer["outcome"] = "unsupported"
		}
		var none failed
		if errors.Is(err, errStale) {
			answer = fields{"outcome": "stale"}
		} else if errors.As(err, &none) {
			answer = fields{"outcome": "failed", "reason": none.reason}
		} else if err != nil { // a timeout or a broken connection: it may have taken effect
			answer = fields{"outcome": "unknown", "reason": err.Error()}
		}
		answer["id"] = asked.ID
		say(answer)
	}
}
