package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

func verdict(t *testing.T, model string, lines ...string) porcupine.CheckResult {
	t.Helper()
	file := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	operations, err := kinds[model].read(file)
	if err != nil {
		t.Fatal(err)
	}
	return porcupine.CheckOperationsTimeout(kinds[model].model, operations, time.Minute)
}

func tabs(line string) string { return strings.ReplaceAll(line, " ", "\t") }

func TestAWriteWithAnOlderTokenIsStale(t *testing.T) {
	for _, model := range []string{"fenced-strict", "fenced-inclusive"} {
		got := verdict(t, model,
			tabs("0 invoke write r0 2 b"), tabs("0 ok write"),
			tabs("1 invoke write r0 1 a"), tabs("1 ok write"))
		if got != porcupine.Illegal {
			t.Errorf("%s: %v", model, got)
		}
	}
}

func TestARejectedWriteIsRight(t *testing.T) {
	got := verdict(t, "fenced-strict",
		tabs("0 invoke write r0 2 b"), tabs("0 ok write"),
		tabs("1 invoke write r0 1 a"), tabs("1 fail write"),
		tabs("1 invoke read r0"), tabs("1 ok read 2 b"))
	if got != porcupine.Ok {
		t.Error(got)
	}
}

func TestOnlyInclusiveAcceptsATokenTwice(t *testing.T) {
	for model, want := range map[string]porcupine.CheckResult{
		"fenced-strict": porcupine.Illegal, "fenced-inclusive": porcupine.Ok,
	} {
		got := verdict(t, model,
			tabs("0 invoke write r0 2 a"), tabs("0 ok write"),
			tabs("0 invoke write r0 2 b"), tabs("0 ok write"))
		if got != want {
			t.Errorf("%s: %v", model, got)
		}
	}
}

func TestAPlainRegisterTakesEveryWrite(t *testing.T) {
	for read, want := range map[string]porcupine.CheckResult{
		"1 ok read 1 a": porcupine.Ok, "1 ok read 2 b": porcupine.Illegal,
	} {
		got := verdict(t, "plain",
			tabs("0 invoke write r0 2 b"), tabs("0 ok write"),
			tabs("1 invoke write r0 1 a"), tabs("1 ok write"),
			tabs("1 invoke read r0"), tabs(read))
		if got != want {
			t.Errorf("%s: %v", read, got)
		}
	}
}

func TestAnInfoMayTakeEffectLateOrNever(t *testing.T) {
	for _, read := range []string{"1 ok read 0 ", "1 ok read 1 a"} {
		got := verdict(t, "fenced-strict",
			tabs("0 invoke write r0 1 a"), tabs("0 info write"),
			tabs("1 invoke read r0"), tabs(read))
		if got != porcupine.Ok {
			t.Errorf("%s: %v", read, got)
		}
	}
}

func TestResourcesAreApart(t *testing.T) {
	got := verdict(t, "fenced-strict",
		tabs("0 invoke write r0 2 b"), tabs("0 ok write"),
		tabs("1 invoke write r1 1 a"), tabs("1 ok write"))
	if got != porcupine.Ok {
		t.Error(got)
	}
}

func TestARegisterReadsWhatWasWritten(t *testing.T) {
	const mark = "INFO  jepsen.util - "
	for read, want := range map[string]porcupine.CheckResult{"1": porcupine.Ok, "2": porcupine.Illegal, "nil": porcupine.Illegal} {
		got := verdict(t, "cas-register",
			mark+"0\t:invoke\t:write\t1", mark+"0\t:ok\t:write\t1",
			mark+"1\t:invoke\t:cas\t[3 2]", mark+"1\t:fail\t:cas\t[3 2]",
			mark+"2\t:invoke\t:cas\t[7 8]", mark+"2\t:info\t:cas\t:timed-out",
			mark+"0\t:invoke\t:read\tnil", mark+"0\t:ok\t:read\t"+read)
		if got != want {
			t.Errorf("%s: %v", read, got)
		}
	}
}
