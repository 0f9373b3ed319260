"""Who wrote a value, who read it, and which operations can have raised the mark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from checkers.facts.evidence import gather
from checkers.facts.history_index import HistoryIndex
from checkers.history.records import Commit, Op
from tests.support.brute_force import fenced, history_of, read, renumbered, write
from tests.support.commit_logs import log


def index_of(*operations: Op, commits: Sequence[Commit] | None = None) -> HistoryIndex:
    return HistoryIndex(gather(history_of(renumbered(operations)), commits, same_run=True))


def calls(operations: Iterable[Op]) -> list[int]:
    return [op.called for op in islice(operations, 9)]


def on(resource: str, op: Op) -> Op:
    return replace(op, resource=resource)


WRITES = (write(0, 1, 1, 9), write(1, 3, 3, 9), write(2, 2, 4, 9), write(3, 4, 5, 9))
ELSEWHERE = on("r1", write(9, 7, 2, 9))


def test_what_can_have_raised_the_mark_comes_in_the_order_of_tokens() -> None:
    index = index_of(*WRITES, ELSEWHERE)

    assert calls(index.raising("r0", 2, 4)) == [4, 3]
    assert calls(index.raising("r0", 2, 3)) == [3]
    assert calls(index.raising("r0", 2, 5)) == [4, 3, 5]
    assert calls(index.raising_to("r0", 2)) == [4]


@pytest.mark.parametrize(("after", "first"), [(2, 3), (3, 5), (4, 5), (5, None)])
def test_the_first_that_raised_the_mark_was_sent_after_the_moment(after: int, first: int | None) -> None:
    found = index_of(*WRITES, ELSEWHERE).first_raising("r0", 3, after)

    assert (found and found.called) == first


@pytest.mark.parametrize(("least", "first"), [(1, 3), (3, 3), (4, 5), (5, None)])
def test_the_first_logged_operation_is_of_the_resource(least: int, first: int | None) -> None:
    commits = [*log((3, "v1"), (1, "v0"), (4, "v3"), (2, "v2"))]
    elsewhere = [Commit(seq=9, resource="r1", token=7, value="v9")]

    found = index_of(*WRITES, ELSEWHERE, commits=[*commits, *elsewhere]).first_logged("r0", least)

    assert (found and found.called) == first


@pytest.mark.parametrize(("outcome", "least"), [("ok", 5), ("info", 5), ("stale", None)])
def test_a_fence_that_was_not_refused_can_have_raised_the_mark(outcome: str, least: int | None) -> None:
    index = index_of(fenced(write(0, 5, 0, 1, outcome)), read(1, (None, 0), 2, 3))

    assert [token for token in (4, 5, 6) if index.has_fence("r0", token)] == ([4, 5] if least else [])
    assert calls(index.raising("r0", 5, 9)) == ([0] if least else [])


def test_an_unanswered_fence_counts_though_the_log_lacks_it() -> None:
    index = index_of(fenced(write(0, 5, 0, 1, "info")), write(1, 1, 2, 3), commits=log((1, "v1")))

    assert calls(index.raising("r0", 5, 9)) == [0]


@pytest.mark.parametrize(("returned", "can"), [(3, False), (4, True)])
def test_a_failed_write_counts_if_its_value_was_read_after_its_call(returned: int, can: bool) -> None:
    index = index_of(write(0, 5, 4, 6, "stale"), read(1, ("v0", 5), 2, returned))

    assert calls(index.raising("r0", 5, 9)) == ([4] if can else [])


def test_a_null_is_found_in_a_history_without_any_other_value() -> None:
    nothing = replace(write(0, 1, 0, 1), value=None)
    seen = replace(read(1, (None, 1), 2, 3), lines=())

    found = index_of(nothing, seen).writer(seen)

    assert found is not None
    assert found.f == "write"


@pytest.mark.parametrize(("entries", "can"), [([(1, "v1")], []), ([(1, "v1"), (5, "v0")], [0])])
def test_a_failed_write_that_is_logged_can_have_raised_the_mark(
    entries: list[tuple[int, str]], can: list[int]
) -> None:
    index = index_of(write(0, 5, 0, 1, "stale"), write(1, 1, 2, 3), commits=log(*entries))

    assert calls(index.raising("r0", 5, 9)) == can
