"""Find the list of each append that does not say what it wrote.

An append writes a list that ends with its element, and no other operation adds that element. So a list in the
resource that ends with it is the list that the append wrote: a read returned it, another append read it, or
the storage's own order has it. The storage's order comes first. If several such lists were seen, no append
wrote the others, and a checker reports that. If only a list with more elements after it was seen, others
appended to the list that ended with it.

If none was seen, the append may have written any list or none. Then we assume the
list that it is known to have read, plus its element: that list was not seen
either, so it is one more write that may or may not have taken effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from checkers.history.columns import Operations
from checkers.history.records import Commit, Element, History, List, Op, Outcome


def with_lists(history: History, commits: Iterable[Commit] = ()) -> History:
    """Return the history with a list for each append that has none."""
    appends = Operations.of(history.operations).named("append")
    without_list = {(op.resource, op.element): op for op in appends if op.value is None}
    if not without_list:
        return history
    lists = {op.index: _unseen(op) for op in without_list.values()}
    lists |= _beginnings(history, commits, without_list)
    lists |= {
        without_list[resource, shown[-1]].index: shown
        for resource, shown in reversed(list(_shown(history, commits)))  # the first of several wins
        if (resource, shown[-1]) in without_list
    }
    completed = (replace(op, value=lists[op.index]) if op.index in lists else op for op in history.operations)
    return replace(history, operations=tuple(completed))


def _beginnings(
    history: History, commits: Iterable[Commit], without_list: Mapping[tuple[str, Element | None], Op]
) -> dict[int, List]:
    """Return, by append index, the first seen list that has the append's element, up to that element."""
    beginnings: dict[int, List] = {}
    for resource, shown in _shown(history, commits):
        for place, element in reversed(list(enumerate(shown, start=1))):
            append = without_list.get((resource, element))
            if append is not None and append.index in beginnings:
                break  # all elements before it were in that first list, too
            if append is not None:
                beginnings[append.index] = shown[:place]
    return beginnings


def _shown(history: History, commits: Iterable[Commit]) -> Iterator[tuple[str, List]]:
    """Yield the non-empty lists that each resource is known to have held."""
    for commit in commits:
        if isinstance(commit.value, tuple) and commit.value:
            yield commit.resource, commit.value
    for op in history.operations:
        shown = read_by(op)
        if shown:
            yield op.resource, shown


def read_by(op: Op) -> List | None:
    """Return the list that an operation is known to have read; None if it read none, or it is unknown."""
    if op.f == "append":
        return op.seen
    is_read = op.f == "read" and op.outcome is Outcome.OK
    return op.value if is_read and isinstance(op.value, tuple) else None


def _unseen(op: Op) -> List:
    return (*(op.seen or ()), *(() if op.element is None else (op.element,)))
