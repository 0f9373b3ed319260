"""What each process recorded, merged into one history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.history.merge import merge


def event(**fields: Any) -> str:
    return json.dumps({"process": 0, "type": "invoke", "f": "read", "resource": "r0", "time": 1} | fields)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_merged_lines_come_without_their_newline_and_otherwise_as_they_are(tmp_path: Path, end: str) -> None:
    part = tmp_path / "events.jsonl"
    line = event() + " "
    part.write_bytes((line + end).encode())

    assert merge([part]) == [line]


def test_a_process_may_begin_at_time_0(tmp_path: Path) -> None:
    part = tmp_path / "events.jsonl"
    part.write_text(event(time=0) + "\n")

    assert len(merge([part])) == 1
