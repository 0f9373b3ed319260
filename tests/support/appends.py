"""Literal appends and reads of one list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkers.facts.evidence import gather
from checkers.history.records import Header, History, Op
from checkers.rules.lost_updates import lost_updates
from tests.support.brute_force import operation


def append(
    called: int, returned: int | None, token: int | None, seen: str | None, element: str, outcome: str = "ok"
) -> Op:
    """Elements are letters: "ab" is a list of two. None: it is unknown which list it read and wrote."""
    lists = {} if seen is None else {"seen": tuple(seen), "value": (*seen, element)}
    return operation("append", 0, called, returned, outcome, token=token, element=element, **lists)


def read(called: int, returned: int, shown: str | None, token: int = 0) -> Op:
    value = None if shown is None else tuple(shown)
    return operation("read", 0, called, returned, token=token, value=value)


def history(*operations: Op, initial: str = "", **header: object) -> History:
    """The operations in the order of their calls, each by a process of its own."""
    ordered = sorted(operations, key=lambda op: op.called)
    return History(
        header=Header(target="t", policy="inclusive", initial_value=tuple(initial), **header),
        operations=tuple(
            replace(op, index=index, process=index, lines=(2 * index + 2, 2 * index + 3))
            for index, op in enumerate(ordered)
        ),
    )


def judged(*operations: Op, **header: Any) -> list[tuple[object, object, bool]]:
    """Of each conflict: the element of the accused (or "read"), the one that was lost, is it only counted?"""
    conflicts = lost_updates(gather(history(*operations, **header)))
    return [(each.accused.element or "read", each.because[0].element, each.counted) for each in conflicts]
