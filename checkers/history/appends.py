"""Appends whose client never told which list it wrote: which one it was, as far as something shows it.

An append writes a list that ends with its element, and no other operation adds
that element. So a list that ends with it and that stood in the resource is the
list it wrote: a read returned it, another append found it, or the storage's own
order has it. The storage's order is asked first. If several such lists were
seen, all but one are lists that nobody wrote, and that is for a checker to say.

If none was seen, the append may have written any list or none. Then it stands as
if it had written what it is known to have read, and its element: as nobody saw
that list either, it is one more write that may or may not have taken effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from checkers.history.columns import Operations
from checkers.history.records import Commit, History, List, Op, Outcome


def with_lists(history: History, commits: Iterable[Commit] = ()) -> History:
    """The history with a list for each append that told none."""
    if isinstance(history.operations, Operations):  # appends are never kept in columns
        return history
    untold = {
        (op.resource, op.element): op for op in history.operations if op.f == "append" and op.value is None
    }
    if not untold:
        return history
    lists = {op.index: _unseen(op) for op in untold.values()}
    lists |= {
        untold[resource, shown[-1]].index: shown
        for resource, shown in reversed(list(_shown(history, commits)))  # of several, the first stays
        if (resource, shown[-1]) in untold
    }
    return replace(
        history,
        operations=tuple(
            replace(op, value=lists[op.index]) if op.index in lists else op for op in history.operations
        ),
    )


def _shown(history: History, commits: Iterable[Commit]) -> Iterator[tuple[str, List]]:
    """The lists, with at least an element, that are known to have stood in a resource."""
    for commit in commits:
        if isinstance(commit.value, tuple) and commit.value:
            yield commit.resource, commit.value
    for op in history.operations:
        shown = read_by(op)
        if shown:
            yield op.resource, shown


def read_by(op: Op) -> List | None:
    """The list that an operation is known to have read; None if it read none, or nobody knows which."""
    if op.f == "append":
        return op.seen
    is_list = op.f == "read" and op.outcome is Outcome.OK and isinstance(op.value, tuple)
    return op.value if is_list and isinstance(op.value, tuple) else None


def _unseen(op: Op) -> List:
    return (*(op.seen or ()), *(() if op.element is None else (op.element,)))
