"""Reference definitions of a list that is appended to, as a precedence graph and pairwise: slow and plain.

An append is a `cas` from the list that it read to the one that it wrote, so a list is a
register whose values are lists (see `models`). An append that failed or has no answer still read
the list it reports. If the client never reported what an append wrote, that is chosen:
a list that was seen and ends with its element, because no other operation adds that.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from checkers.history.operation import Operation
from checkers.history.records import Element, List, Op, Outcome
from tests.oracles.models import is_register


def is_list(operations: Sequence[Op], initial: List = ()) -> bool:
    """Can one list have answered reads and appends like this?"""
    appends = [op for op in operations if op.f == "append" and op.outcome is not Outcome.FAIL]
    seen = _shown(operations)
    readings = [reading for op in operations if (reading := _reading(op)) is not None]
    choices = [[_writing(append, way) for way in _ways(append, seen)] for append in appends]
    return any(
        is_register([*readings, *written], initial)
        for written in itertools.product(*(choice for choice in choices if choice))
    )


def lost_elements(operations: Sequence[Op], initial: List = ()) -> set[Element]:
    """Return the elements absent from a list that was read after they were known to be there.

    Known: its append had returned ok, or a list with it had been read, before that read was called; or
    it was there before the run, and no append added it.
    """
    appended = {op.element for op in operations if op.f == "append" and op.element is not None}
    return {
        element
        for reader in operations
        if (found := found_by(reader)) is not None
        for element in appended.union(initial).difference(found)
        if element not in appended or any(_shows(op, element) and _was_over(op, reader) for op in operations)
    }


def overwritten(operations: Sequence[Op]) -> set[frozenset[int]]:
    """Return the pairs of appends, by index, that took effect and had read the same list."""
    shown = _shown(operations)
    effective = [
        op
        for op in operations
        if op.f == "append" and (op.outcome is Outcome.OK or any(op.element in each for each in shown))
    ]
    return {
        frozenset({one.index, other.index})
        for one, other in itertools.combinations(effective, 2)
        if _found(one, shown) == _found(other, shown) is not None
    }


def found_by(op: Op) -> List | None:
    """Return the list that an operation is known to have read."""
    if op.f == "append":
        return op.seen
    if op.f != "read" or op.outcome is not Outcome.OK:
        return None
    return op.value if isinstance(op.value, tuple) else ()


def _reading(op: Op) -> Operation | None:
    """Return the read in an operation that may not have written; it ends when its client saw the outcome."""
    found = found_by(op)
    if found is None or (op.f == "append" and op.outcome is Outcome.OK):
        return None
    returned = op.learned if op.returned is None else op.returned
    return Operation(f="read", output=found, called=op.called, returned=returned)


def _shown(operations: Sequence[Op]) -> set[List]:
    return {found for op in operations if (found := found_by(op)) is not None}


def _ways(append: Op, shown: set[List]) -> list[tuple[List, List]]:
    """Return the lists that an append can have read and written; none if its element was never read."""
    if isinstance(append.value, tuple):
        lists = {append.value}
    else:
        lists = {each[: each.index(append.element) + 1] for each in shown if append.element in each}
    return [(each[:-1] if append.seen is None else append.seen, each) for each in sorted(lists)]


def _found(append: Op, shown: set[List]) -> List | None:
    """Return the list that an append read, if only one is possible."""
    ways = _ways(append, shown)
    return ways[0][0] if len(ways) == 1 else append.seen


def _writing(append: Op, way: tuple[List, List]) -> Operation:
    return Operation(
        f="cas", input=way, outcome=append.outcome, called=append.called, returned=append.returned
    )


def _shows(op: Op, element: Element) -> bool:
    """Does it prove that the element was there?"""
    return (op.element == element and op.outcome is Outcome.OK) or element in (found_by(op) or ())


def _was_over(op: Op, reader: Op) -> bool:
    """Had its client seen its outcome, of any kind, before the other was called?"""
    return op.learned is not None and op.learned < reader.called
