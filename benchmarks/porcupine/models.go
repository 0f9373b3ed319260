package main

import (
	"hash/fnv"

	"github.com/anishathalye/porcupine"
)

// kind is a model, and the reader of its histories.
type kind struct {
	model porcupine.Model
	read  func(file string) ([]porcupine.Operation, error)
}

var kinds = map[string]kind{
	"register":         {register, readEtcd},
	"cas-register":     {register, readEtcd},
	"kv":               {keyValue, readKeyValue},
	"fenced-strict":    {fenced(func(token, mark int) bool { return token > mark }), readFenced},
	"fenced-inclusive": {fenced(func(token, mark int) bool { return token >= mark }), readFenced},
	"plain":            {fenced(func(_, _ int) bool { return true }), readFenced},
}

type op uint8

const (
	read op = iota
	write
	cas
	put
	add
)

// value is the content of a register: a number or nothing.
type value struct {
	number int
	exists bool
}

type registerInput struct {
	op       op
	expected value // of a cas
	new      value
}

type registerOutput struct {
	ok      bool // of a cas: it succeeded
	value   value
	unknown bool // unknown outcome
}

// register takes reads, writes and cas. An operation with an unknown outcome returns at the
// end of time, so that it may take effect after everything else, when nothing observes it.
var register = porcupine.Model{
	Init: func() any { return value{} },
	Step: func(state, input, output any) (bool, any) {
		holds, in, out := state.(value), input.(registerInput), output.(registerOutput)
		switch in.op {
		case read:
			return out.unknown || out.value == holds, holds
		case write:
			return true, in.new
		default:
			matches := in.expected == holds
			after := holds
			if matches {
				after = in.new
			}
			return out.unknown || out.ok == matches, after
		}
	},
	Equal: func(a, b any) bool { return a.(value) == b.(value) },
}

type keyValueInput struct {
	op   op
	key  string
	text string
}

type keyValueOutput struct {
	text    string
	unknown bool
}

var keyValue = porcupine.Model{
	Partition: byKey(func(input any) string { return input.(keyValueInput).key }),
	Init:      func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		holds, in, out := state.(string), input.(keyValueInput), output.(keyValueOutput)
		switch in.op {
		case read:
			return out.unknown || out.text == holds, holds
		case put:
			return true, in.text
		default:
			return true, holds + in.text
		}
	},
	Equal: func(a, b any) bool { return a.(string) == b.(string) },
	Hash: func(state any) uint64 {
		hash := fnv.New64a()
		hash.Write([]byte(state.(string)))
		return hash.Sum64()
	},
}

type fencedInput struct {
	op       op
	resource string
	token    int
	value    string
}

type fencedOutput struct {
	accepted bool
	unknown  bool
	token    int // of a read: the token of the value
	value    string
}

type fencedState struct {
	value string
	token int // of the value, and also the mark: only accepted writes raise it
}

// fenced is a register that accepts a write iff its token passes the mark.
func fenced(passes func(token, mark int) bool) porcupine.Model {
	return porcupine.Model{
		Partition: byKey(func(input any) string { return input.(fencedInput).resource }),
		Init:      func() any { return fencedState{} },
		Step: func(state, input, output any) (bool, any) {
			holds, in, out := state.(fencedState), input.(fencedInput), output.(fencedOutput)
			if in.op == read {
				return out.unknown || holds == fencedState{out.value, out.token}, holds
			}
			accepts := passes(in.token, holds.token)
			after := holds
			if accepts {
				after = fencedState{in.value, in.token}
			}
			return out.unknown || out.accepted == accepts, after
		},
		Equal: func(a, b any) bool { return a.(fencedState) == b.(fencedState) },
		Hash: func(state any) uint64 {
			hash := fnv.New64a()
			hash.Write([]byte(state.(fencedState).value))
			return hash.Sum64() ^ uint64(state.(fencedState).token)
		},
	}
}

// byKey splits a history into those of its objects, in the order in which they appear.
func byKey(key func(input any) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) [][]porcupine.Operation {
		places := map[string]int{}
		var parts [][]porcupine.Operation
		for _, operation := range history {
			name := key(operation.Input)
			place, known := places[name]
			if !known {
				place = len(parts)
				places[name] = place
				parts = append(parts, nil)
			}
			parts[place] = append(parts[place], operation)
		}
		return parts
	}
}
