"""Where the storage's own order has what a read returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.evidence import gather
from checkers.facts.read_places import ReadPlaces, read_places
from checkers.facts.recorded import recorded
from checkers.history.records import Commit, Op
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.commit_logs import log


def found(operations: Sequence[Op], commits: Sequence[Commit], initial: str | None = None) -> ReadPlaces:
    history = history_of(renumbered(operations))
    history = replace(history, header=replace(history.header, initial_value=initial))
    evidence = gather(history, commits, same_run=True)
    columns = evidence.log
    assert columns is not None
    return read_places(recorded(evidence), columns)


def places(*arguments: object) -> dict[int, tuple[int, int]]:
    """The first and the last position of what each read returned, by row."""
    each = found(*arguments)
    return {
        row: (first, last)
        for row, first, last in zip(each.rows.tolist(), each.first.tolist(), each.last.tolist(), strict=True)
    }


def token(number: int | None, op: Op) -> Op:
    return replace(op, token=number)


@pytest.mark.parametrize(("called", "is_there"), [(2, True), (3, False)])
def test_a_read_cannot_have_returned_what_was_sent_later(called: int, is_there: bool) -> None:
    operations = [write(0, 1, 0, 1), read(1, ("v2", 2), 1, 2), write(2, 2, called, 9)]

    assert bool(places(operations, log((1, "v0"), (2, "v2")))) == is_there


def test_what_was_there_before_the_run_has_the_initial_token_or_none() -> None:
    reads = [
        token(number, read(i, (value, 0), i, i))
        for i, (value, number) in enumerate([(None, 0), (None, None), (None, 5), ("v9", 0), ("v9", None)])
    ]

    assert places(reads, log((1, "v8"))) == {0: (-1, -1), 1: (-1, -1)}


def test_a_value_that_a_client_wrote_was_not_there_before_the_run() -> None:
    assert places([write(0, 1, 0, 1), read(1, ("v0", 0), 2, 3)], log((2, "v8")), "v0") == {}


def test_a_read_returns_the_token_that_was_sent_or_stored_or_none() -> None:
    numbers = 2, 3, 4, None
    operations = [
        write(0, 2, 0, 1),
        *(token(number, read(i, ("v0", 0), i, i)) for i, number in enumerate(numbers, 2)),
    ]

    assert list(places(operations, log((3, "v0")))) == [1, 2, 4]


def test_a_read_returns_any_token_of_a_foreign_value_without_one() -> None:
    assert places([read(0, ("v9", 7), 0, 1)], log((None, "v9"))) == {0: (0, 0)}


def test_null_can_be_logged() -> None:
    null = replace(write(0, 1, 0, 1), value=None)

    assert places([null, read(1, (None, 1), 2, 3)], log((1, None), (1, "v8"))) == {}
    commits = [Commit(seq=1, resource="r0", token=1, value=None)]
    assert places([null, read(1, (None, 1), 2, 3)], commits) == {1: (0, 0)}


def test_what_was_logged_twice_is_there_from_its_first_to_its_last_place() -> None:
    one, other = write(0, 1, 0, 1), replace(write(1, 1, 0, 1), resource="r1")
    right, wrong = read(2, ("v1", 1), 2, 3), read(3, ("v1", 5), 4, 5)
    unlogged = read(4, ("v9", 1), 6, 7)
    reads = [replace(each, resource="r1") for each in (right, wrong, unlogged)]
    commits = [
        Commit(seq=seq, resource=resource, token=1, value=value)
        for seq, (resource, value) in enumerate([("r0", "v0"), ("r1", "v1"), ("r1", "v1")])
    ]

    placed = found([one, other, *reads], commits)

    assert placed.rows.tolist() == [2]
    assert (placed.first.tolist(), placed.last.tolist()) == ([1], [2])
    assert placed.repeated[2] == [1, 2]
