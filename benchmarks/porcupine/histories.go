package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

const longestLine = 1 << 20 // bytes

// event is one line of a history: a call or its completion.
type event struct {
	process int
	kind    string // invoke ok fail info
	value   any    // the input, or the output
}

// pairs joins events into operations; line numbers are their times.
// An operation that ended in info or never ended returns at the end of time.
type pairs struct {
	operations []porcupine.Operation
	open       map[int]int // process → index in operations
	unknown    func() any  // the output of an operation with an unknown outcome
	time       int64
}

func (p *pairs) take(e event) error {
	p.time++
	place, isOpen := p.open[e.process]
	if e.kind == "invoke" {
		if isOpen {
			return fmt.Errorf("process %d has an operation open", e.process)
		}
		p.open[e.process] = len(p.operations)
		p.operations = append(p.operations, porcupine.Operation{
			ClientId: e.process, Input: e.value, Call: p.time, Output: p.unknown(), Return: math.MaxInt64,
		})
		return nil
	}
	if !isOpen {
		return fmt.Errorf("process %d has no operation open", e.process)
	}
	delete(p.open, e.process)
	if e.value != nil {
		p.operations[place].Output = e.value
		p.operations[place].Return = p.time
	}
	return nil
}

func readHistory(file string, unknown func() any, parse func(line string) (event, error)) ([]porcupine.Operation, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	history := pairs{open: map[int]int{}, unknown: unknown}
	lines := bufio.NewScanner(opened)
	lines.Buffer(make([]byte, 0, 1<<16), longestLine)
	for number := 1; lines.Scan(); number++ {
		parsed, err := parse(lines.Text())
		if err == nil {
			err = history.take(parsed)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return history.operations, nil
}

var etcdLine = regexp.MustCompile(
	`^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(nil|\d+|\[\d+ \d+\]|:timed-out)$`)

// readEtcd reads an etcd log of Jepsen: one register.
func readEtcd(file string) ([]porcupine.Operation, error) {
	return readHistory(file, func() any { return registerOutput{unknown: true} }, parseEtcd)
}

func parseEtcd(line string) (event, error) {
	found := etcdLine.FindStringSubmatch(line)
	if found == nil {
		return event{}, fmt.Errorf("no event: %.80q", line)
	}
	process, err := strconv.Atoi(found[1])
	if err != nil {
		return event{}, err
	}
	parsed := event{process: process, kind: found[2]}
	switch {
	case parsed.kind == "invoke":
		parsed.value = askedEtcd(found[3], found[4])
	case found[4] == ":timed-out": // unknown outcome
	case found[3] == "cas":
		parsed.value = registerOutput{ok: parsed.kind == "ok"}
	case parsed.kind == "ok":
		parsed.value = registerOutput{value: number(found[4])}
	}
	return parsed, nil
}

func askedEtcd(f, answered string) registerInput {
	switch f {
	case "read":
		return registerInput{op: read}
	case "write":
		return registerInput{op: write, new: number(answered)}
	}
	expected, new, _ := strings.Cut(strings.Trim(answered, "[]"), " ")
	return registerInput{op: cas, expected: number(expected), new: number(new)}
}

func number(answered string) value {
	parsed, err := strconv.Atoi(answered)
	return value{parsed, err == nil}
}

var keyValueLine = regexp.MustCompile(
	`^\{:process (\d+), :type :(invoke|ok|fail|info), :f :(get|put|append), :key "([^"]*)", :value (?:nil|"([^"]*)")\}$`)

// readKeyValue reads a key-value log of Porcupine's tests.
func readKeyValue(file string) ([]porcupine.Operation, error) {
	return readHistory(file, func() any { return keyValueOutput{unknown: true} }, parseKeyValue)
}

func parseKeyValue(line string) (event, error) {
	found := keyValueLine.FindStringSubmatch(line)
	if found == nil {
		return event{}, fmt.Errorf("no event: %.80q", line)
	}
	process, err := strconv.Atoi(found[1])
	if err != nil {
		return event{}, err
	}
	parsed := event{process: process, kind: found[2]}
	switch parsed.kind {
	case "invoke":
		ops := map[string]op{"get": read, "put": put, "append": add}
		parsed.value = keyValueInput{op: ops[found[3]], key: found[4], text: found[5]}
	case "ok":
		parsed.value = keyValueOutput{text: found[5]}
	}
	return parsed, nil
}

// readFenced reads a history of fenced registers, one event per line, with words separated by tabs:
//
//	PROCESS invoke write RESOURCE TOKEN VALUE     PROCESS invoke read RESOURCE
//	PROCESS ok     write                          PROCESS ok     read TOKEN VALUE
//	PROCESS fail   write   (rejected by the fence)    PROCESS info   write|read
//
// An empty VALUE with the TOKEN 0 is the state before any write. A write that failed
// for another reason is left out of the file: it had no effect.
func readFenced(file string) ([]porcupine.Operation, error) {
	return readHistory(file, func() any { return fencedOutput{unknown: true} }, parseFenced)
}

func parseFenced(line string) (event, error) {
	words := strings.Split(line, "\t")
	if len(words) < 3 {
		return event{}, fmt.Errorf("no event: %.80q", line)
	}
	process, err := strconv.Atoi(words[0])
	if err != nil {
		return event{}, err
	}
	parsed := event{process: process, kind: words[1]}
	switch kind, f, rest := words[1], words[2], words[3:]; {
	case kind == "invoke" && f == "write" && len(rest) == 3:
		token, err := strconv.Atoi(rest[1])
		parsed.value = fencedInput{op: write, resource: rest[0], token: token, value: rest[2]}
		return parsed, err
	case kind == "invoke" && f == "read" && len(rest) == 1:
		parsed.value = fencedInput{op: read, resource: rest[0]}
	case kind == "ok" && f == "read" && len(rest) == 2:
		token, err := strconv.Atoi(rest[0])
		parsed.value = fencedOutput{token: token, value: rest[1]}
		return parsed, err
	case kind == "ok" && f == "write" && len(rest) == 0:
		parsed.value = fencedOutput{accepted: true}
	case kind == "fail" && f == "write" && len(rest) == 0:
		parsed.value = fencedOutput{}
	case kind == "info" && len(rest) == 0: // unknown outcome
	default:
		return event{}, fmt.Errorf("no event: %.80q", line)
	}
	return parsed, nil
}
