"""Histories as columns, and what the checkers find in them as in plain operations."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from checkers.explain.conflict import Breach, Conflict
from checkers.facts.evidence import Evidence, gather
from checkers.history.columns import Operations
from checkers.history.event_columns import read_events
from checkers.history.jsonl import read_lines
from checkers.history.plain_text import IrregularError
from checkers.history.reader import parse
from checkers.history.records import History, Op, Outcome
from checkers.rules.registers import observed
from checkers.text.errors import HistoryError
from checkers.vocabulary.verdict import Verdict
from tests.support.brute_force import renumbered


def in_columns(lines: Sequence[str]) -> History:
    """A history as columns, by the fast reader if it can read it."""
    header = parse(lines[:1]).header
    rest = "".join(line.rstrip("\n") + "\n" for line in lines[1:]).encode(errors="surrogatepass")
    try:
        return read_events(io.BytesIO(rest), header, "history")
    except IrregularError:
        found = parse(lines)
        return replace(found, operations=Operations.of(found.operations, header.initial_value))


def lines_of(operations: Sequence[Op], **header: object) -> list[str]:
    """What a recorder would have written; at equal times calls come first."""
    events: list[tuple[int, int, dict[str, object]]] = []
    for op in operations:
        asked = {"process": op.process, "f": op.f, "resource": op.resource}
        asked |= {"token": op.token, "value": op.value} if op.f != "read" else {}
        events.append((op.called, 0, {"time": op.called, "type": "invoke", **asked}))
        response = (
            {"token": op.token, "value": op.value} if op.f == "read" and op.outcome is Outcome.OK else {}
        )
        response |= {"error": op.error} if op.error else {}
        learned = op.called if op.learned is None else max(op.learned, op.called)
        events.append((learned, 1, {"time": learned, "type": op.outcome, **asked, **response}))
    events.sort(key=lambda event: event[:2])
    head = {"fencepost": 1, "target": "t", "require": {"stale_writes_attempted": 0}, **header}
    return [json.dumps(line) + "\n" for line in (head, *(event for _, _, event in events))]


def without_times(verdict: Verdict) -> Verdict:
    return replace(verdict, checkers=tuple(replace(each, seconds=0.0) for each in verdict.checkers))


def read_or_error(read: Callable[[Path], History], path: Path) -> History | str:
    try:
        found = read(path)
    except HistoryError as error:
        return str(error)
    return replace(found, operations=tuple(found.operations))


def read_carefully(path: Path) -> History:
    """Read a file line by line, whatever its layout."""
    return parse(read_lines(path), str(path))


Summary = tuple[str, Breach, int, list[int]]


def summary_of(conflict: Conflict) -> Summary:
    return conflict.anomaly, conflict.breach, conflict.accused.index, [op.index for op in conflict.because]


def seen(*operations: Op, **header: object) -> list[Summary]:
    lines = lines_of(renumbered(operations), **header)
    found = list(observed(Evidence(history=parse(lines))))
    assert found == list(observed(gather(in_columns(lines))))
    return [summary_of(each) for each in found]
