"""Hostile, contradictory and unfinished files are refused or survived, also those made for equal hashes."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers import formats
from checkers.formats.collisions import MOST, without_collisions
from checkers.formats.writing import as_ours, export
from checkers.models.judge import judge_foreign
from checkers.text.errors import HistoryError
from checkers.vocabulary.verdict import Validity
from tests.support.foreign_histories import CASES, FOLDER, WRITE, WROTE, WriteFile, model_of
from tests.support.selection import examples

HOSTILE = {
    "empty": (b"", 1, "empty"),
    "blank": (b" \n\n", 1, "empty"),
    "binary": (bytes(range(256)), 2, "not UTF-8"),
    "utf-16": (f"{WRITE}\n".encode("utf-16"), 1, "not UTF-8"),
    "nul": (b"{:process 0, :type :invoke, :f :read\x00}\n", 1, "begins no form"),
    "prose": (b"Dear reader\n", 1, "not a history that Fencepost knows"),
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
    "not a number": (WRITE.replace("1}", "##NaN}").encode() + b"\n", 1, "nan cannot be compared"),
    "not a number in JSON": (
        b'{"process": 0, "type": "invoke", "f": "write", "value": NaN}\n',
        1,
        "NaN cannot be compared",
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
    "no process": (b"{:type :invoke, :f :read}\n", 1, r"no process, in: \{:type :invoke, :f :read\}"),
    "no process in JSON": (b'{"a":1}\n', 1, r'no process, in: \{"a":1\}'),
    "an empty object": (b"{}\n", 1, r"no process, in: \{\}"),
    "a negative process": (b"{:process -1, :type :invoke, :f :read}\n", 1, "process -1"),
    "a process of half": (b"{:process 1.5, :type :invoke, :f :read}\n", 1, "process is 1.5"),
    "an unknown operation": (
        b"{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}\n",
        1,
        "no operation 'txn'",
    ),
    "a cas of three": (
        b"{:process 0, :type :invoke, :f :read}\n{:process 1, :type :invoke, :f :cas, :value [1 2 3]}\n",
        2,
        r"a cas is \[expected new\], or \[key \[expected new\]\] .* not \[1 2 3\]",
    ),
    "a vector cut off": (f"[{WRITE}\n {WROTE}".encode(), 2, "before the vector's"),
    "an array cut off": (b'[{"process": 0, "type": "invoke", "f": "read"},\n', 2, "not JSON|array"),
    "something behind": (b"[]\n[]", 2, "after the end"),
    "something behind an array": (b'[{"process": 0, "type": "invoke", "f": "read"}]\n]', 2, "after the end"),
    "a bare form": (f"{WRITE}\n7\n".encode(), 2, "7 is not an event"),
    "a torn log line": (
        b"INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 0\t:o\n",
        2,
        "not a log event",
    ),
    "a word in a log": (b"INFO  jepsen.util - 0\t:invoke\t:write\t:timed-out\n", 1, "whole numbers"),
    "a name twice": (b'{"process": 0, "process": 1, "type": "invoke", "f": "read"}\n', 1, "repeated name"),
    "a keyword and a text of one name": (
        b'{:process 0, "process" 1, :type :invoke, :f :read}\n',
        1,
        "a field that occurs twice",
    ),
    "a client with a name": (b"{:process :client0, :type :invoke, :f :write, :value 1}\n", 1, "client0"),
    "a process in quotes": (
        b'{"process": "0", "type": "invoke", "f": "write", "value": 1}\n',
        1,
        "process '0' is not a number",
    ),
    "a client with a name in a log": (
        b"INFO  jepsen.util - :client0\t:invoke\t:write\t1\n",
        1,
        "process :client0 is not a number",
    ),
    "half a surrogate pair": (
        b'{"process": 0, "type": "invoke", "f": "write", "value": "\\ud800"}\n',
        1,
        "half of a surrogate pair",
    ),
    "a key that another line lacks": (
        (
            b'{:process 0 :type :invoke :f :put :key "x" :value "a"}\n'
            b"{:process 1 :type :invoke :f :get :value nil}\n"
        ),
        2,
        'get names no key, but line 1 names "x"',
    ),
    "a number with a zero before it in a log": (b"0\t:invoke\t:write\t010\n", 1, "begins with 0"),
    "a map that is not closed, before others": (f"{WRITE[:-1]}\n{WROTE}\n{WRITE}".encode(), 1, "inside of"),
    "a text that is not closed, before others": (
        f'{WRITE}\n{{:process 0, :error "lost}}\n{WRITE}'.encode(),
        2,
        "string that does not end",
    ),
    "an object that is not closed, before others": (
        b'{"process": 0, "type": "invoke", "f": "read"\n{"process": 1, "type": "invoke", "f": "read"}',
        1,
        "not JSON",
    ),
    "something else behind the last line": (
        b'{"process": 0, "type": "invoke", "f": "read"}\nx',
        2,
        "not JSON",
    ),
    "half a character where no line begins so": (f"{WRITE}\n".encode() + b"\xe2\x82", 2, "begins no form"),
    "events of ours without their header": (
        b'{"time":1,"process":0,"type":"invoke","f":"write","resource":"r","token":1,"value":"a"}\n',
        1,
        "the first line is a header",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_impossible_history_is_refused_with_file_line_and_value(file: WriteFile, name: str) -> None:
    content, line, problem = HOSTILE[name]
    path = file(content)

    with pytest.raises(HistoryError, match=problem) as caught:
        judge_foreign(path, "cas-register")

    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert len(str(caught.value)) < 1000


def test_unknown_fields_are_ignored(file: WriteFile) -> None:
    path = file(WRITE.replace("{", "{:node [1 {:a #{2}}] :error nil ") + "\n" + WROTE + "\n")

    assert judge_foreign(path, "register").verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    "name", ["cas-register.valid.edn", "register.lines.invalid.json", "cas-register.valid.log"]
)
def test_a_half_written_last_line_is_cut_off_with_a_notice(file: WriteFile, name: str) -> None:
    content = (FOLDER / name).read_bytes()
    cut = content[:-4]

    history = formats.read(file(cut))

    lines = content.count(b"\n")
    assert any(f":{lines}: the last line is only half written" in notice for notice in history.notices)
    assert max(line for call in history.calls for line in call.lines) < lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in CASES if ".valid." in path.name], ids=lambda path: path.name
)
def test_no_cut_of_a_right_history_is_wrong(file: WriteFile, path: Path) -> None:
    content = path.read_bytes()

    for end in range(len(content)):
        try:
            verdict, _ = judge_foreign(file(content[:end]), model_of(path))
        except HistoryError:
            continue
        assert verdict.validity is not Validity.INVALID, content[:end]


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_a_history_or_an_error(file: WriteFile, content: bytes) -> None:
    with contextlib.suppress(HistoryError):
        formats.read(file(content))


@given(st.data())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(300), deadline=None
)
def test_any_change_of_a_sample_is_judged_or_refused(file: WriteFile, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(CASES))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content)))  # it may be empty by now
        length = data.draw(st.integers(0, 30))
        piece = data.draw(
            st.sampled_from(
                [b"", b"}", b"{", b'"', b"nil", b"-1", b"[[", b"\xff", b"\n", bytes(content[:length])]
            )
        )
        content[place : place + length] = piece

    with contextlib.suppress(HistoryError):
        judge_foreign(file(bytes(content)), model_of(path))


def test_a_time_that_cannot_rise_any_more_is_refused(file: WriteFile) -> None:
    path = file(
        '{"fencepost":1,"target":"t"}\n'
        + "".join(
            f'{{"time":{2**63 - 1},"process":0,"type":"{kind}","f":"write","resource":"r","token":1,"value":1}}\n'
            for kind in ("invoke", "ok")
        )
    )

    with pytest.raises(HistoryError, match=f"^{path}:3: made to rise, its time is beyond 64 bits"):
        list(as_ours(formats.read(path), "register"))


def test_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(HistoryError, match="and only regular files are read"):
            formats.read(path)
    with pytest.raises(HistoryError, match="there is no such file"):
        formats.read(tmp_path / "nothing")


def test_an_object_that_was_printed_into_a_history_is_no_harm(file: WriteFile) -> None:
    path = file(
        "{:process 0, :type :invoke, :f :write, :value 1}\n"
        '{:process 0, :type :info, :f :write, :value 1, :error #object[clojure.core$fn__1 0x2f "fn"],'
        ' :exception {:via [{:type java.io.IOException, :at [a.b$c invoke "b.clj" -1]}], :rate 1/3}}\n'
    )

    assert judge_foreign(path, "register").verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    "name", ["\x1b[2J", "a\n::error::b", "write, :value 9 ;", "write 1", "a\u202eb", "::a", "1 2"]
)
def test_no_name_of_an_operation_adds_to_an_exported_history(file: WriteFile, name: str) -> None:
    named = file(json.dumps([{"process": 0, "type": "invoke", "f": name, "value": 1}]).encode())

    with pytest.raises(HistoryError, match="cannot be written: no keyword of EDN has that name"):
        list(export(formats.read(named), "jepsen-edn"))


MODULUS = 2**61 - 1
"""Python's hash of a whole number is its remainder."""
_64_BITS = 2**64
_PRIME_1, _PRIME_2, _PRIME_5 = 11400714785074694791, 14029467366897019727, 2870177450012600261
_HASH = 7


def pairs() -> Iterator[tuple[int, int]]:
    """Pairs of numbers with the same hash: Python's hash of a tuple (xxHash), solved for the second."""
    mixed = _HASH * pow(_PRIME_1, -1, _64_BITS) % _64_BITS
    mixed = (mixed >> 31 | mixed << 33) % _64_BITS
    for first in itertools.count(1):
        begun = (_PRIME_5 + first * _PRIME_2) % _64_BITS
        begun = (begun << 31 | begun >> 33) * _PRIME_1 % _64_BITS
        second = (mixed - begun) * pow(_PRIME_2, -1, _64_BITS) % _64_BITS
        second -= _64_BITS * (second >= _64_BITS // 2)
        if abs(second) < MODULUS and second != -1:
            yield first, second


SAME = tuple(itertools.islice(pairs(), MOST + 1))
NUMBERS = " ".join(str(MODULUS * number) for number in range(1, MOST + 2))
LIST = json.dumps(SAME)
INVOKE = '{"process": 0, "type": "invoke", "f": "read", "value": null}\n'


def written(values: list[str]) -> str:
    """A history that writes these."""
    event = "{{:process 0, :type :{}, :f :write, :value {}}}\n"
    return "".join(event.format(kind, value) for value in values for kind in ("invoke", "ok"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{{:process 0, :type :invoke, :f :write, :value #{{{NUMBERS}}}}}\n", 1),
        (f"{{:process 0, :type :invoke, :f :write, :value {{{NUMBERS} {NUMBERS}}}}}\n", 1),
        (f'{INVOKE}{{"process": 0, "type": "ok", "f": "read", "value": {LIST}}}\n', 2),
        (written([f"[[{first} {second}]]" for first, second in SAME]), 1),
        (written([f"[[{first} {second}] 1]" for first, second in SAME]), 1),
    ],
)
def test_many_different_values_with_one_hash_are_refused(tmp_path: Path, text: str, line: int) -> None:
    history = tmp_path / "history"
    history.write_text(text)

    with pytest.raises(HistoryError, match="different values with the same hash, which no tool") as refusal:
        formats.read(history)

    assert refusal.value.line == line


@pytest.mark.parametrize("values", [SAME[:-1], SAME[:1] * 1000, (*range(-1000, 1000),)])
def test_values_that_a_tool_writes_are_taken(values: tuple[object, ...]) -> None:
    assert without_collisions(values) is values
