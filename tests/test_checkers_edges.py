"""Edges of the checkers that nothing else stands on: each test tells one rule from its nearest neighbour."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from checkers import history, read
from checkers.columnar.columns import ABSENT
from checkers.errors import HistoryError
from checkers.models import (
    IMPOSSIBLE,
    CasRegister,
    Counter,
    Fenced,
    FencedMutex,
    KeyValue,
    Mutex,
    Register,
    Set,
)
from checkers.operation import UNKNOWN, Operation
from checkers.reading import column_cache
from checkers.reading.jsonl import MAX_LINE, Line, decode, is_cut_short, number_lines, read_lines
from checkers.reading.merge import merge
from checkers.records import Outcome


def asked(f: str, value=None, answer=UNKNOWN, outcome: Outcome = Outcome.OK) -> Operation:
    return Operation(f=f, input=value, output=answer, called=0, returned=1, outcome=outcome)


def event(**fields) -> str:
    return json.dumps({"process": 0, "type": "invoke", "f": "read", "resource": "r0", "time": 1} | fields)


def test_writes_of_one_value_are_of_one_kind_whatever_came_back():
    one, other = asked("write", 1, "done"), asked("write", 1, "stored")

    assert Register().kind(one) == Register().kind(other)
    assert Register().kind(one) != Register().kind(asked("write", 2, "done"))


def test_failed_writes_are_of_another_kind_than_those_that_took_effect():
    one, failed = asked("write", 1), asked("write", 1, outcome=Outcome.FAIL)

    for model in (Register(), KeyValue(), Set(), Counter(), Mutex()):
        assert model.kind(one) != model.kind(failed)


def test_questions_to_a_set_are_reads():
    assert Set().is_read(asked("read"))
    assert Set().is_read(asked("contains", 1))
    assert not Set().is_read(asked("add", 1))


def test_a_get_is_a_read():
    assert KeyValue().is_read(asked("get"))
    assert not KeyValue().is_read(asked("put", "a"))


def test_a_cas_register_is_read_by_reads_and_by_what_failed():
    assert CasRegister().is_read(asked("read"))
    assert CasRegister().is_read(asked("cas", (1, 2), outcome=Outcome.FAIL))
    assert not CasRegister().is_read(asked("cas", (1, 2)))
    assert not CasRegister().is_read(asked("write", 1))


def test_asking_a_counter_is_a_read():
    assert Counter().is_read(asked("read"))
    assert not Counter().is_read(asked("add", 1))


def test_a_fenced_mutex_is_not_granted_to_its_holder_again():
    held = Fenced("a", 1)

    assert FencedMutex().step(held, asked("acquire", "a", 2)) is IMPOSSIBLE


def test_a_fenced_mutex_is_not_released_by_others():
    assert FencedMutex().step(Fenced("a", 1), asked("release", "b")) is IMPOSSIBLE


def test_a_line_over_the_limit_arrives_cut_just_beyond_it(tmp_path: Path):
    path = tmp_path / "history.jsonl"
    path.write_bytes(b"x" * (MAX_LINE + 10) + b"\n")

    assert [len(text) for text in read_lines(path)] == [MAX_LINE + 1, 10]


def test_a_whole_last_line_that_is_wrong_is_not_half_written():
    decoder = msgspec.json.Decoder(dict[str, int])

    assert not is_cut_short(b'{"a": "b"}')
    assert is_cut_short(b'{"a": "b"')
    assert not is_cut_short(b"[" * 100_000)  # too deep, whatever follows
    with pytest.raises(HistoryError):
        decode(Line("f", 3, b'{"a": "b"}', unfinished=True), decoder)


def test_a_refused_line_is_shown_from_its_beginning_and_not_for_ever():
    short = Line("f", 3, b" {} \r\n", unfinished=False)
    full = Line("f", 3, b"x" * 120, unfinished=False)
    long = Line("f", 3, b"x" * 121, unfinished=False)

    assert str(short.error("no event")).endswith("no event, in:  {} ")
    assert str(full.error("no event")).endswith("no event, in: " + "x" * 120)
    assert str(long.error("no event")).endswith("no event, in: " + "x" * 120 + "…")


def test_a_line_may_be_as_long_as_the_limit():
    (line,) = number_lines([b"x" * MAX_LINE], "f")

    assert line.unfinished
    with pytest.raises(HistoryError, match="over 1 MiB"):
        list(number_lines([b"x" * (MAX_LINE + 1)], "f"))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_merged_lines_come_without_their_newline_and_otherwise_as_they_are(tmp_path: Path, end: str):
    part = tmp_path / "events.jsonl"
    line = event() + " "
    part.write_bytes((line + end).encode())

    assert merge([part]) == [line]


def test_a_process_may_begin_at_time_0(tmp_path: Path):
    part = tmp_path / "events.jsonl"
    part.write_text(event(time=0) + "\n")

    assert len(merge([part])) == 1


@pytest.fixture
def kept_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The columns of a history of one write."""
    monkeypatch.setattr(history, "LONG", 0)
    write = {"f": "write", "token": 1, "value": "v"}
    lines = [
        {"fencepost": 1, "target": "t"},
        json.loads(event(**write)),
        json.loads(event(**write, time=2, type="ok")),
    ]
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    header = read(path, cache=tmp_path).header
    (file,) = tmp_path.glob("*.npz")
    assert column_cache.kept(tmp_path, file.name.partition("-")[0], header, "h") is not None
    return file


@pytest.mark.parametrize(
    ("name", "number"),
    [("resource", ABSENT), ("value", ABSENT), ("resource", 1), ("owner", 0), ("error", 1), ("f", 8)],
)
def test_kept_columns_with_a_number_that_stands_for_nothing_are_not_believed(kept_columns, name, number):
    with np.load(kept_columns) as arrays:
        kept = dict(arrays)
    kept[name] = np.full_like(kept[name], number)
    np.savez(kept_columns, **kept)

    digest = kept_columns.name.partition("-")[0]
    header = read(kept_columns.with_name("history.jsonl")).header
    assert column_cache.kept(kept_columns.parent, digest, header, "h") is None
