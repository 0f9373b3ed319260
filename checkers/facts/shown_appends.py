"""Appends that are known to have taken effect, because a list with their element was read.

No other operation adds an append's element. So a list with that element was written by the
append itself, or by an append that built on its list: by the time the list was read, the append
had taken effect. An append writes the list that it read, with its own element at the end. So the
element before its own was there before it wrote.

Resources with writes other than appends are left out, since a write may replace a list.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.facts.appends import read_by
from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.history.records import List, Op, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAppends:
    """The appends that lists show.

    `by` maps an append's index to the first reader of a list with its element: one that
    returned, if there is any.
    """

    appends: Sequence[Op]  # only appends that took effect
    by: Mapping[int, Op]
    pairs: Sequence[tuple[Op, Op]]  # an append, and the append whose list it had read


@memoized_as_seen
def shown_appends(evidence: Evidence) -> ShownAppends:
    """Return the appends that took effect, as shown by the lists that clients read."""
    appends: list[Op] = []
    by: dict[int, Op] = {}
    pairs: list[tuple[Op, Op]] = []
    if evidence.resources("append"):
        for operations in evidence.by_resource("write", "append", "read").values():
            if not any(op.f == "write" and op.outcome is not Outcome.FAIL for op in operations):
                appender = _appenders(operations)
                by |= _first_readers(operations, appender)
                appends += (op for op in operations if op.index in by)
                pairs += _pairs(operations, appender, by)
    return ShownAppends(appends=appends, by=by, pairs=pairs)


def _appenders(operations: Sequence[Op]) -> dict[object, Op]:
    """Return the append of each element, except for elements that several operations appended."""
    appends = [op for op in operations if op.element is not None]
    times = Counter(op.element for op in appends)
    return {op.element: op for op in appends if times[op.element] == 1}


def _first_readers(operations: Sequence[Op], appender: Mapping[object, Op]) -> dict[int, Op]:
    by: dict[int, Op] = {}
    readings = [op for op in operations if read_by(op) is not None]
    for reader in sorted(readings, key=lambda op: (op.returned is None, _learned(op))):
        for element in reversed(read_by(reader) or ()):
            append = appender.get(element)
            if append is None or append is reader or append.called > _learned(reader):
                continue
            if append.index in by:
                break  # its first reader also read all elements before it
            by[append.index] = reader
    return by


def _learned(reader: Op) -> float:
    return math.inf if reader.learned is None else reader.learned


def _pairs(
    operations: Sequence[Op], appender: Mapping[object, Op], by: Mapping[int, Op]
) -> Iterator[tuple[Op, Op]]:
    for append in operations:
        reader = append if append.f == "append" and append.seen is not None else by.get(append.index)
        built_on = () if reader is None else _built_on(append, read_by(reader) or ())
        writer = appender.get(built_on[-1]) if built_on else None
        if reader is None or writer is None or writer is append:
            continue
        if writer.called <= _learned(reader):
            yield append, writer


def _built_on(append: Op, shown: List) -> List:
    """Return the list that an append read: as it says, or as shown by a list that has its element."""
    if append.seen is not None:
        return append.seen
    return shown[: shown.index(append.element)]
