"""Histories of other tools with known verdicts, and what must be refused or survived."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from foreign_histories import calls, events, meaning, precedence
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import checkers
from checkers import formats
from checkers.errors import HistoryError
from checkers.foreign import MODELS, judge_foreign
from checkers.formats import VOCABULARY, Foreign, jepsen, porcupine
from checkers.formats.text import Text
from checkers.formats.writing import as_ours, export
from checkers.linearizable import search
from checkers.records import Outcome
from checkers.register import judge_register
from checkers.verdict import Validity

FOLDER = Path(__file__).parent / "histories" / "foreign"
CASES = sorted(FOLDER.iterdir())
REQUIRED = "FENCEPOST_REQUIRE_PORCUPINE"
PORCUPINE = "github.com/anishathalye/porcupine@v1.3.1"

WRITE = "{:process 0, :type :invoke, :f :write, :value 1}"
WROTE = "{:process 0, :type :ok, :f :write, :value 1}"


@pytest.fixture
def file(tmp_path):
    def write(content, name="history"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def model_of(path: Path) -> str:
    return path.name.split(".")[0]


def verdict_of(history: Foreign, model: str = "cas-register") -> Validity:
    return search(formats.operations(history, model).operations, MODELS[model]()).validity


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_each_sample_has_the_verdict_of_its_name(path):
    verdict, notices = judge_foreign(path, model_of(path))

    said = path.name.split(".")[-2]
    found = {name for name, count in verdict.anomalies.items() if count}
    assert found == {"valid": set(), "invalid": {"non-linearizable"}}.get(said, {said})
    assert verdict.validity is (Validity.INVALID if found else Validity.VALID)
    assert all("left out" in notice for notice in notices)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_each_finding_names_its_lines_and_ends_in_the_contradiction(path):
    lines = path.read_text().splitlines()

    for finding in judge_foreign(path, model_of(path)).verdict.findings:
        assert finding.operations
        assert all(1 <= number <= len(lines) for number in finding.operations)
        assert finding.resource
        assert len(finding.steps) >= 2
        assert all(step.endswith(".") for step in finding.steps)


def test_every_model_has_a_vocabulary():
    assert VOCABULARY.keys() == MODELS.keys()


def test_the_nemesis_is_kept_as_notes():
    history = formats.read(FOLDER / "cas-register.valid.edn")

    assert [(note.line, note.process) for note in history.notes] == [(2, "nemesis")]
    assert {call.process for call in history.calls} == {0, 1, 3}


def test_an_info_never_tells_what_it_carries(file):
    path = file(
        "{:process 0, :type :invoke, :f :read, :value nil}\n{:process 0, :type :info, :f :read, :value 9}\n"
        + "\n".join([WRITE.replace("0", "1", 1), WROTE.replace("0", "1", 1)])
        + "\n"
    )

    assert judge_foreign(path, "register").verdict.validity is Validity.VALID


def test_a_failed_cas_tells_nothing_unless_it_says_what_it_found(file):
    cas = "{:process 0, :type :invoke, :f :cas, :value [1 2]}\n{:process 0, :type :fail, :f :cas, :value [1 2]%s}\n"

    def validity(field):
        return judge_foreign(file(f"{WRITE}\n{WROTE}\n" + cas % field), "cas-register").verdict.validity

    assert validity("") is Validity.VALID
    assert validity(", :error :timeout") is Validity.VALID
    assert validity(", :error :precondition-failed") is Validity.INVALID
    assert validity(", :seen 1") is Validity.INVALID
    assert validity(", :seen 2") is Validity.INVALID


def test_an_operation_that_never_ended_may_have_had_its_effect(file):
    read = "{:process 1, :type :invoke, :f :read, :value nil}\n{:process 1, :type :ok, :f :read, :value %s}\n"

    assert judge_foreign(file(f"{WRITE}\n" + read % 1), "register").verdict.validity is Validity.VALID
    assert judge_foreign(file(f"{WRITE}\n" + read % "nil"), "register").verdict.validity is Validity.VALID
    assert judge_foreign(file(f"{WRITE}\n" + read % 2), "register").verdict.validity is Validity.INVALID


@pytest.mark.parametrize(
    ("written", "read"), [("1", "true"), ("1", "1.0"), ('"a"', ":a"), ("true", "1"), ("[1 2 3]", "[1 2]")]
)
def test_values_of_different_kinds_are_never_the_same(file, written, read):
    path = file(
        WRITE.replace("value 1", f"value {written}")
        + WROTE.replace("value 1", f"value {written}")
        + "{:process 0, :type :invoke, :f :read, :value nil}"
        + f"{{:process 0, :type :ok, :f :read, :value {read}}}\n"
    )

    assert judge_foreign(path, "register").verdict.validity is Validity.INVALID


def test_an_acquire_that_repeats_what_it_asked_for_has_no_token(file):
    path = file(
        "".join(
            f"{{:process {process}, :type {kind}, :f {f}, :value 7}}\n"
            for process in (0, 1)
            for f in (":acquire", ":release")
            for kind in (":invoke", ":ok")
        )
    )

    assert judge_foreign(path, "fenced-mutex").verdict.validity is Validity.VALID


def test_a_lock_that_two_held_is_told_beside_its_tokens(file):
    path = file(
        "".join(
            f"{{:process {process}, :type {kind}, :f :acquire, :value {value}}}\n"
            for process in (0, 1)
            for kind, value in ((":invoke", "nil"), (":ok", 7))
        )
    )

    verdict = judge_foreign(path, "fenced-mutex").verdict

    assert verdict.anomalies == {"duplicate-token": 1, "token-regression": 0, "non-linearizable": 1}


def test_times_that_run_backwards_a_little_do_not_count_but_are_told(file):
    path = file(WRITE.replace("{", "{:time 500 ") + "\n" + WROTE.replace("{", "{:time 400 ") + "\n")

    verdict, notices = judge_foreign(path, "register")

    assert verdict.validity is Validity.VALID
    assert "time runs backwards from 500 to 400" in notices[0]


def test_a_history_without_operations_is_unknown(file):
    verdict, _ = judge_foreign(file("[]"), "register")

    assert verdict.validity is Validity.UNKNOWN
    assert "not exercised" in verdict.reasons[0]


def test_a_search_beyond_its_budget_is_unknown():
    verdict, _ = judge_foreign(FOLDER / "cas-register.valid.edn", "cas-register", budget=1)

    assert verdict.validity is Validity.UNKNOWN
    assert "configurations" in verdict.reasons[0]


HOSTILE = {
    "empty": (b"", 1, "empty"),
    "blank": (b" \n\n", 1, "empty"),
    "binary": (bytes(range(256)), 2, "not UTF-8"),
    "utf-16": (f"{WRITE}\n".encode("utf-16"), 1, "not UTF-8"),
    "nul": (b"{:process 0, :type :invoke, :f :read\x00}\n", 1, "begins no form"),
    "prose": (b"Dear reader\n", 1, "no format that is known"),
    "a 10 MB line": (b'{:process 0, :value "' + b"x" * 10_000_000 + b'"}\n', 1, "more than"),
    "a 10 MB line of JSON": (b'{"process": 0, "value": "' + b"x" * 10_000_000 + b'"}\n', 1, "more than"),
    "a 10 MB line of a log": (
        b"INFO  jepsen.util - 0\t:ok\t:read\t" + b"1" * 10_000_000 + b"\n",
        1,
        "more than",
    ),
    "deep": (b"{:process 0, :value " + b"[" * 100_000 + b"]" * 100_000 + b"}\n", 1, "nested deeper"),
    "deep JSON": (
        b'{"process": 0, "value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        1,
        "recursion|nested",
    ),
    "deep array": (b"[" * 100_000 + b"]" * 100_000, 1, "nested deeper"),
    "not a number": (WRITE.replace("1}", "##NaN}").encode() + b"\n", 1, "nan is no value"),
    "not a number in JSON": (
        b'{"process": 0, "type": "invoke", "f": "write", "value": NaN}\n',
        1,
        "NaN is no value",
    ),
    "a huge number": (WRITE.replace("1}", "9" * 40 + "}").encode() + b"\n", 1, "beyond 64 bits"),
    "a huger number of JSON": (b'{"process": 0, "value": ' + b"9" * 5000 + b"}\n", 1, "not JSON"),
    "an index twice": (
        f"{WRITE.replace('{', '{:index 4 ')}\n{WROTE.replace('{', '{:index 4 ')}\n".encode(),
        2,
        "index 4",
    ),
    "times backwards": (
        f"{WRITE.replace('{', '{:time 9000000000 ')}\n{WROTE.replace('{', '{:time 10 ')}\n".encode(),
        2,
        "time runs backwards",
    ),
    "a negative time": (WRITE.replace("{", "{:time -5 ").encode(), 1, "time is -5"),
    "a lone completion": (WROTE.encode(), 1, "no operation open"),
    "two open operations": (f"{WRITE}\n{WRITE}\n".encode(), 2, "open since line 1"),
    "a process after its info": (
        f"{WRITE}\n{WROTE.replace(':ok', ':info')}\n{WRITE}\n".encode(),
        3,
        "ended in info at line 2",
    ),
    "another answer": (f"{WRITE}\n{WROTE.replace('1}', '2}')}\n".encode(), 2, "invoked it with 1"),
    "another f": (f"{WRITE}\n{WROTE.replace(':write', ':read')}\n".encode(), 2, "line 1 invoked write"),
    "another key": (
        b"[{:process 0 :type :invoke :f :read :value [1 nil]}\n{:process 0 :type :ok :f :read :value [2 3]}]",
        2,
        "key 1",
    ),
    "no type": (b"{:process 0, :f :read}\n", 1, "no type"),
    "a strange type": (b"{:process 0, :type :done, :f :read}\n", 1, "type is 'done'"),
    "no process": (b"{:type :invoke, :f :read}\n", 1, "no process"),
    "a negative process": (b"{:process -1, :type :invoke, :f :read}\n", 1, "process -1"),
    "a process of half": (b"{:process 1.5, :type :invoke, :f :read}\n", 1, "process is 1.5"),
    "an unknown operation": (
        b"{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}\n",
        1,
        "no operation 'txn'",
    ),
    "a cas of three": (b"{:process 0, :type :invoke, :f :cas, :value [1 2 3]}\n", 1, "expected new"),
    "a vector cut off": (f"[{WRITE}\n {WROTE}".encode(), 2, "before the vector's"),
    "an array cut off": (b'[{"process": 0, "type": "invoke", "f": "read"},\n', 2, "not JSON|array"),
    "something behind": (b"[]\n[]", 2, "behind the end"),
    "something behind an array": (b'[{"process": 0, "type": "invoke", "f": "read"}]\n]', 2, "behind the end"),
    "a bare form": (f"{WRITE}\n7\n".encode(), 2, "7 is no event"),
    "a torn log line": (
        b"INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 0\t:o\n",
        2,
        "no event of a log",
    ),
    "a word in a log": (b"INFO  jepsen.util - 0\t:invoke\t:write\t:timed-out\n", 1, "whole numbers"),
    "a name twice": (b'{"process": 0, "process": 1, "type": "invoke", "f": "read"}\n', 1, "stands twice"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_a_history_is_refused_with_file_line_and_value(file, name):
    content, line, problem = HOSTILE[name]
    path = file(content)

    with pytest.raises(HistoryError, match=problem) as caught:
        judge_foreign(path, "cas-register")

    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert len(str(caught.value)) < 1000


def test_unknown_fields_are_ignored(file):
    path = file(WRITE.replace("{", "{:node [1 {:a #{2}}] :error nil ") + "\n" + WROTE + "\n")

    assert judge_foreign(path, "register").verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    "name", ["cas-register.valid.edn", "register.lines.invalid.json", "cas-register.valid.log"]
)
def test_a_half_written_last_line_is_cut_off_with_a_notice(file, name):
    content = (FOLDER / name).read_bytes()
    cut = content[:-4]

    history = formats.read(file(cut))

    lines = content.count(b"\n")
    assert any(f":{lines}: the last line is only half written" in notice for notice in history.notices)
    assert max(line for call in history.calls for line in call.lines) < lines


@pytest.mark.parametrize(
    "path", [path for path in CASES if ".valid." in path.name], ids=lambda path: path.name
)
def test_no_cut_of_a_right_history_is_wrong(file, path):
    content = path.read_bytes()

    for end in range(len(content)):
        try:
            verdict, _ = judge_foreign(file(content[:end]), model_of(path))
        except HistoryError:
            continue
        assert verdict.validity is not Validity.INVALID, content[:end]


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_history_or_an_error(file, content):
    with contextlib.suppress(HistoryError):
        formats.read(file(content))


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_any_change_of_a_sample_is_judged_or_refused(file, data):
    path = data.draw(st.sampled_from(CASES))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 30))
        piece = data.draw(
            st.sampled_from(
                [b"", b"}", b"{", b'"', b"nil", b"-1", b"[[", b"\xff", b"\n", bytes(content[:length])]
            )
        )
        content[place : place + length] = piece

    with contextlib.suppress(HistoryError):
        judge_foreign(file(bytes(content)), model_of(path))


@given(events())
def test_jepsens_edn_is_read_as_it_was_written(made):
    before = calls(made)

    text = "".join(jepsen.write_edn(before))
    after = jepsen.read_edn(Text("drawn", text)).calls

    assert list(map(meaning, after)) == list(map(meaning, before))
    assert precedence(after) == precedence(before)
    assert [call.times for call in after] == [call.times for call in before]


@given(events())
def test_jepsens_json_is_the_same_as_its_edn(made):
    def plain(value):
        return list(value) if isinstance(value, tuple) else value

    rows = [
        {"process": event.process, "type": event.type, "f": event.f, "value": plain(event.value)}
        | ({"error": ["precondition-failed", "x"]} if event.refused else {})
        for event in made
    ]
    history = jepsen.read_json(Text("drawn", "\n".join(map(json.dumps, rows)) + "\n"))

    assert list(map(meaning, history.calls)) == list(map(meaning, calls(made)))


@given(events())
def test_an_etcd_log_keeps_the_verdict(made):
    before = Foreign(name="drawn", calls=calls(made))

    after = porcupine.read_etcd(Text("drawn", "".join(export(before, "porcupine-etcd"))))

    assert verdict_of(after) is verdict_of(before)


@given(events(), st.permutations(["a", ":b", "c"]))
def test_values_that_are_no_numbers_are_numbered_in_an_etcd_log(made, names):
    def named(value):
        if isinstance(value, tuple):
            return tuple(map(named, value))
        return None if value is None else names[value]

    before = calls(made)
    renamed = Foreign(
        name="drawn",
        calls=tuple(
            type(call)(
                **{field: getattr(call, field) for field in call.__dataclass_fields__}
                | {"asked": named(call.asked)}
                | ({"answered": named(call.answered)} if call.f == "read" and call.outcome == "ok" else {})
            )
            for call in before
        ),
    )

    after = porcupine.read_etcd(Text("drawn", "".join(export(renamed, "porcupine-etcd"))))

    assert verdict_of(after) is verdict_of(Foreign(name="drawn", calls=before))


@given(events(cas=False))
def test_an_imported_register_gets_the_same_verdict_as_by_its_model(made):
    history = Foreign(name="drawn", calls=calls(made))
    written = [call.asked for call in history.calls if call.f == "write" and call.outcome is not Outcome.FAIL]
    if len(set(written)) < len(written):
        with pytest.raises(HistoryError, match="takes each value once"):
            list(as_ours(history, "register"))
        return

    imported = checkers.parse(as_ours(history, "register"))

    assert checkers.judge(imported).validity is verdict_of(history, "register")


def test_an_imported_lock_gets_the_same_findings():
    for name in ("valid", "duplicate-token", "token-regression"):
        history = formats.read(FOLDER / f"fenced-mutex.{name}.edn")
        verdict = checkers.judge(checkers.parse(as_ours(history, "fenced-mutex")))

        assert {found for found, count in verdict.anomalies.items() if count} <= {name, "double-belief"}
        assert (verdict.validity is Validity.VALID) == (name == "valid")


def test_our_own_history_is_exported_with_its_resources_as_keys(file):
    ours = Path(__file__).parent / "histories" / "valid-strict-own-token.jsonl"
    history = formats.read(ours)

    exported = formats.read(file("".join(export(history, "jepsen-edn", model="register"))))

    wanted = [call for call in history.calls if call.f in {"read", "write"}]
    assert list(map(meaning, exported.calls)) == list(map(meaning, wanted))
    assert precedence(exported.calls) == precedence(tuple(wanted))


def test_a_lock_under_a_lease_is_no_mutex():
    with pytest.raises(HistoryError, match="under a lease"):
        judge_foreign(Path(__file__).parent / "histories" / "early-grant.jsonl", "mutex")


@pytest.fixture(scope="session")
def porcupine_module() -> Path:
    go = shutil.which("go")
    if go is None:
        _miss("no go is on PATH")
    found = subprocess.run(
        [go, "mod", "download", "-json", PORCUPINE],
        capture_output=True, text=True, check=False, cwd="/", timeout=100,
    )  # fmt: skip
    if found.returncode:
        _miss(f"{PORCUPINE} cannot be had: {found.stderr[-200:] or found.stdout[-200:]}")
    return Path(json.loads(found.stdout)["Dir"])


def _miss(why: str) -> None:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{why}, and {REQUIRED} is set")
    pytest.skip(why)


def test_all_102_etcd_logs_of_porcupine_get_its_verdicts(porcupine_module):
    known = re.findall(
        r"checkJepsen\(t, (\d+), (true|false)\)", (porcupine_module / "porcupine_test.go").read_text()
    )

    wrong = [
        number
        for number, right in known
        if judge_foreign(
            porcupine_module / f"test_data/jepsen/etcd_{int(number):03d}.log", "cas-register"
        ).verdict.validity
        is not (Validity.VALID if right == "true" else Validity.INVALID)
    ]

    assert len(known) == 102
    assert wrong == []


@pytest.mark.parametrize("name", ["c01-ok", "c01-bad", "c10-ok", "c10-bad"])
def test_porcupines_key_value_logs_get_its_verdicts(porcupine_module, name):
    verdict, _ = judge_foreign(porcupine_module / f"test_data/kv/{name}.txt", "kv")

    assert verdict.validity is (Validity.VALID if name.endswith("ok") else Validity.INVALID)


def test_the_peer_that_benchmarks_run_passes_its_own_tests(porcupine_module):
    assert porcupine_module.exists()
    folder = Path(__file__).parents[1] / "benchmarks" / "porcupine"

    tested = subprocess.run(
        ["go", "test", "-count=1", "./..."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert tested.returncode == 0, tested.stdout + tested.stderr


@given(events())
def test_pairs_and_search_agree_on_what_was_read(made):
    history = Foreign(name="drawn", calls=calls(made))
    judged = formats.operations(history, "cas-register")

    assert judge_register(judged.operations).validity is verdict_of(history)
