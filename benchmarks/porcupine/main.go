// Command porcupine judges histories with Porcupine and prints the time of each.
//
//	porcupine -model cas-register -timeout 30s -memory 8192 FILE...
//
// It prints one JSON object per history:
//
//	{"file":"…","model":"…","operations":870,"verdict":"valid","seconds":0.0123,"peak_mib":18}
//
// The verdict is valid, invalid, unknown (the timeout passed) or out-of-memory;
// after the last the program ends with code 3, because a check cannot be cancelled.
// Seconds cover only the check, not reading the file; the memory of the
// history counts. A timeout of 0 means none.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

const mebibyte = 1 << 20

// outOfMemory is the program's exit code when a check needs more memory than allowed.
const outOfMemory = 3

type report struct {
	File       string  `json:"file"`
	Model      string  `json:"model"`
	Operations int     `json:"operations"`
	Verdict    string  `json:"verdict"`
	Seconds    float64 `json:"seconds"`
	PeakMiB    uint64  `json:"peak_mib"`
}

func main() {
	name := flag.String("model", "cas-register", "register, cas-register, kv, plain, fenced-strict or fenced-inclusive")
	timeout := flag.Duration("timeout", 30*time.Second, "of each history; 0: none")
	memory := flag.Uint64("memory", 8192, "MiB that the program may take")
	flag.Parse()
	if flag.NArg() == 0 {
		fail("name a history")
	}
	kind, known := kinds[*name]
	if !known {
		fail("there is no model %q", *name)
	}
	debug.SetMemoryLimit(int64(*memory * mebibyte / 10 * 9)) // collect before giving up
	for _, file := range flag.Args() {
		operations, err := kind.read(file)
		if err != nil {
			fail("%v", err)
		}
		judge(kind.model, operations, report{File: file, Model: *name}, *timeout, *memory*mebibyte)
	}
}

// judge checks one history and prints the result.
func judge(model porcupine.Model, operations []porcupine.Operation, answer report, timeout time.Duration, memory uint64) {
	answer.Operations = len(operations)
	began := time.Now()
	watch := watchMemory(memory, func(peak uint64) {
		answer.Verdict, answer.Seconds, answer.PeakMiB = "out-of-memory", time.Since(began).Seconds(), peak/mebibyte
		print(answer)
		os.Exit(outOfMemory)
	})
	result := porcupine.CheckOperationsTimeout(model, operations, timeout)
	answer.Seconds = time.Since(began).Seconds()
	answer.PeakMiB = watch.stop() / mebibyte
	answer.Verdict = map[porcupine.CheckResult]string{
		porcupine.Ok:      "valid",
		porcupine.Illegal: "invalid",
		porcupine.Unknown: "unknown",
	}[result]
	print(answer)
	debug.FreeOSMemory() // so that the next history starts with little memory
}

func print(result report) {
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail("%v", err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(2)
}

// watcher measures the memory of the program while a check runs.
type watcher struct {
	done chan struct{}
	wait sync.WaitGroup
	peak uint64
}

const lookEvery = 20 * time.Millisecond

// watchMemory calls tooMuch once the program has taken more than limit bytes from the system.
func watchMemory(limit uint64, tooMuch func(peak uint64)) *watcher {
	w := &watcher{done: make(chan struct{})}
	w.wait.Add(1)
	go func() {
		defer w.wait.Done()
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			w.look()
			if w.peak > limit {
				tooMuch(w.peak)
			}
			select {
			case <-w.done:
				w.look()
				return
			case <-ticker.C:
			}
		}
	}()
	return w
}

func (w *watcher) look() {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	w.peak = max(w.peak, now.Sys-now.HeapReleased)
}

func (w *watcher) stop() uint64 {
	close(w.done)
	w.wait.Wait()
	return w.peak
}
