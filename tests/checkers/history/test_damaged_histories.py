"""Damaged histories are read or refused with their line; parts of processes are merged into one history."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers.history.merge import merge
from checkers.history.reader import parse
from checkers.history.records import Outcome
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from tests.support.events import (
    ACQUIRE,
    ACQUIRED,
    APPEND,
    APPENDED,
    BYTES,
    GOOD,
    HEADER,
    HOSTILE,
    READ,
    WAS_READ,
    WRITE,
    WRITTEN,
    changed,
    refusal,
)
from tests.support.selection import examples


@pytest.mark.parametrize("kept", [1, 20, len(WRITTEN) - 1])
def test_a_half_written_last_line_is_cut_off_with_a_notice(kept: int) -> None:
    history = parse([HEADER, WRITE, WRITTEN[:kept]], name="h.jsonl")

    assert history.operations[0].learned is None
    assert history.notices == ("h.jsonl:3: the last line is only half written and was left out",)


def test_a_last_line_that_was_cut_within_a_character_is_cut_off_too() -> None:
    cut = changed(WRITE, value="é").encode().decode("unicode_escape").encode()[:-3]

    assert parse([HEADER, cut]).notices


def test_a_whole_line_that_only_lacks_its_newline_counts() -> None:
    assert parse([HEADER, WRITE, WRITTEN]).operations[0].outcome is Outcome.OK


def test_a_broken_last_line_with_its_newline_is_an_error() -> None:
    assert refusal(HEADER, WRITE, WRITTEN[:20] + "\n").line == 3


def test_a_complete_last_line_of_another_type_is_an_error() -> None:
    assert refusal(HEADER, "17").line == 2


def test_what_is_wrong_with_a_header_is_said_whatever_its_file_is_called() -> None:
    with pytest.raises(HistoryError, match=r"^a: b\.jsonl:1: Object missing required field `fencepost`, in"):
        parse(['{"x":1}\n'], "a: b.jsonl")


def test_a_half_written_header_is_no_history() -> None:
    assert "the header is only half written" in str(refusal(HEADER[:9]))


OF_LISTS = (HEADER, APPEND, APPENDED, changed(READ, time=50), changed(WAS_READ, value=["x", "e"]))


@settings(max_examples=examples(400), deadline=None)
@given(st.data())
def test_any_mutation_of_a_history_is_read_or_refused(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from([BYTES, "\n".join(OF_LISTS).encode() + b"\n"])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        upto = data.draw(st.integers(at, min(len(text), at + 40)))
        text[at:upto] = data.draw(st.sampled_from(HOSTILE) | st.binary(max_size=4))
    _read_or_refuse(bytes(text).splitlines(keepends=True))


@settings(max_examples=examples(300), deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_shuffle_or_change_of_fields_is_read_or_refused(rng: random.Random) -> None:
    lines = [json.loads(line) for line in rng.choice([GOOD, OF_LISTS])]
    for _ in range(rng.randint(1, 3)):
        line = rng.choice(lines)
        name = rng.choice(list(line) or ["time"])
        line[name] = rng.choice([None, 0, -1, 2**70, 1.5, True, "r0", "nemesis", "ok", [], ["e"], {}, 33])
    if rng.random() < 0.5:
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    if rng.random() < 0.3:
        del lines[rng.randrange(len(lines))]
    _read_or_refuse([json.dumps(line) + "\n" for line in lines])


@given(st.lists(st.binary(max_size=60) | st.text(max_size=60), max_size=5))
@example(lines=[HEADER, '{"process":"nemesis"'])
@example(lines=[HEADER + "\n", b'{"process":"nemesis","time":' + b"[" * 5000])
def test_rubbish_is_refused(lines: list[Any]) -> None:
    _read_or_refuse(lines)


def _read_or_refuse(lines: list[Any]) -> None:
    try:
        history = parse(lines)
    except HistoryError:
        return
    assert not [reason for reason in judge(history).reasons if "crash" in reason]


def test_a_long_history_cut_anywhere_can_be_judged() -> None:
    lines = [line + "\n" for line in GOOD]
    whole = "".join(lines).encode()
    rng = random.Random(1)
    for _ in range(200):
        cut = whole[: rng.randint(len(HEADER) + 1, len(whole))]
        judge(parse(cut.splitlines(keepends=True)))


@pytest.mark.parametrize("end", ["},", '}{"time":9}', '},"x":NaN}', "}\x00"])
def test_a_last_line_that_is_wrong_in_itself_is_not_taken_for_half_written(end: str) -> None:
    whole = '{"time":2,"process":0,"type":"ok","f":"read","resource":"r0","value":null,"token":0'

    assert "h.jsonl:2" in str(refusal(HEADER + "\n", whole + end))


def event(**fields: Any) -> str:
    return json.dumps({"process": 0, "type": "invoke", "f": "read", "resource": "r0", "time": 1} | fields)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_merged_lines_lose_only_their_newline(tmp_path: Path, end: str) -> None:
    part = tmp_path / "events.jsonl"
    line = event() + " "
    part.write_bytes((line + end).encode())

    assert merge([part]) == [line]


def test_a_process_may_begin_at_time_0(tmp_path: Path) -> None:
    part = tmp_path / "events.jsonl"
    part.write_text(event(time=0) + "\n")

    assert len(merge([part])) == 1


def test_parts_are_merged_by_time_and_half_written_ends_dropped(tmp_path: Path) -> None:
    one, two = tmp_path / "client-0.jsonl", tmp_path / "client-1.jsonl"
    other = changed(WRITE, process=1, time=30, value="b")
    renew = '{"time":35,"process":7,"type":"invoke","f":"renew","resource":"r0","owner":"0-1"}'
    mine = (ACQUIRE, ACQUIRED, WRITE, WRITTEN, renew, READ, WAS_READ)
    one.write_text("\n".join(mine) + "\n")
    two.write_text(other + "\n" + WAS_READ[:30])
    notices: list[str] = []

    lines = merge([one, two], notices.append)

    times = [json.loads(line)["time"] for line in lines]
    assert times == sorted(times)
    assert [json.loads(line)["process"] for line in lines if json.loads(line)["time"] == 30] == [0, 1]
    assert notices == [f"{two}:2: the last line is only half written and was left out"]
    assert len(parse([HEADER, *lines]).operations) == 5


def test_events_of_one_process_at_one_time_keep_their_order(tmp_path: Path) -> None:
    part = tmp_path / "client-0.jsonl"
    events = [changed(line, time=10) for line in (ACQUIRE, changed(ACQUIRED, attempt=10), WRITE)]
    part.write_text("\n".join([*events, changed(WRITTEN, time=10)]) + "\n")

    assert [json.loads(line)["type"] for line in merge([part])] == ["invoke", "ok", "invoke", "ok"]


def test_time_that_runs_backwards_within_a_process_is_refused_when_merging(tmp_path: Path) -> None:
    part = tmp_path / "client-0.jsonl"
    part.write_text(WRITE + "\n" + changed(WRITTEN, time=29) + "\n")

    with pytest.raises(HistoryError, match="time runs backwards in process 0, from 30 to 29"):
        merge([part])
