"""What each process recorded, merged into one history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.history.merge import merge
from checkers.history.reader import parse
from checkers.text.errors import HistoryError
from tests.support.event_lines import changed
from tests.support.events import ACQUIRE, ACQUIRED, HEADER, READ, WAS_READ, WRITE, WRITTEN


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
