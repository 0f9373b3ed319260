"""The commit log as columns: which commit was sent by whom, in all of a log and in a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.evidence import gather
from checkers.facts.log_columns import LogColumns
from checkers.history.records import Commit, Op
from tests.support.brute_force import fenced, history_of, renumbered, write


def on(resource: str, op: Op) -> Op:
    return replace(op, resource=resource)


def matched(operations: Sequence[Op], *commits: tuple[str, int | None, str | None]) -> LogColumns:
    """The log of some operations; a commit has its resource, its token, and no value if it is a fence."""
    log = [
        Commit(seq=seq, resource=resource, token=token, value=value, fence=value is None)
        for seq, (resource, token, value) in enumerate(commits)
    ]
    found = gather(history_of(renumbered(operations)), log, same_run=True).log
    assert found is not None
    return found


@pytest.fixture
def whole() -> LogColumns:
    """Of two resources, each commit with another fate."""
    sent = [
        write(0, 1, 0, 1),
        write(1, 2, 2, 3),
        fenced(write(2, 3, 4, 5)),
        on("r1", write(3, 4, 6, 7)),
        on("r1", write(4, 5, 8, 9)),
    ]
    return matched(
        sent,
        ("r1", 1, "v0"),  # sent to the other resource
        ("r0", 2, "v1"),  # as it was sent
        ("r1", None, "v3"),  # without its token
        ("r0", 3, None),  # a fence, as it was sent
        ("r1", 6, "v4"),  # with another token
        ("r0", 7, "v9"),  # a write that nobody sent
        ("r1", 9, None),  # a fence that nobody sent
    )


def part_of(log: LogColumns, indexes: set[int]) -> LogColumns:
    return log.only(indexes, log._ops)


@pytest.mark.parametrize("is_part", [False, True], ids=["matched", "matched already"])
def test_each_commit_has_what_sent_it(whole: LogColumns, is_part: bool) -> None:
    log = part_of(whole, {entry.op.index for entry in whole.entries}) if is_part else whole
    values = log._ops.columns.values

    assert log.place.tolist() == [1, 3, 5, 0, 2, 4, 6]
    assert log.sender.tolist() == [1, 2, -1, 0, 3, 4, -1]
    assert log.was_sent.tolist() == [True, True, False, True, True, True, False]
    assert log.is_elsewhere.tolist() == [False, False, False, True, False, False, False]
    assert log.row.tolist() == [1, 2, -1, -1, 3, 4, -1]
    assert log.fits.tolist() == [True, True, False, False, False, False, False]
    assert log.token.tolist() == [2, 3, 7, 1, 4, 6, 9]
    assert [None if value < 0 else values[value] for value in log.value] == [
        "v1",
        None,
        None,
        "v0",
        "v3",
        "v4",
        None,
    ]


def test_a_part_of_a_log_keeps_its_order_and_its_entries(whole: LogColumns) -> None:
    unsent = next(each.op.index for each in whole.entries if each.commit.value == "v9")

    part = part_of(whole, {unsent, 3})

    assert [(each.commit.value, each.near and each.near.index) for each in part.entries] == [
        ("v3", 1),
        ("v9", 2),
    ]


def test_nothing_is_left_of_a_log_without_its_operations(whole: LogColumns) -> None:
    nothing = part_of(whole, set())

    assert (list(nothing.entries), nothing.has_fences, nothing.unsent) == ([], True, 0)


def test_what_does_not_fit_belongs_to_its_resource(whole: LogColumns) -> None:
    assert [each.near for each in whole.entries if each.fits] == [None, None]
    assert [each.place for each in whole.unmatched_of("r0")] == [5]
    assert [each.place for each in whole.unmatched_of("r1")] == [0, 2, 4, 6]


def test_what_was_sent_last_before_a_write_is_of_its_resource() -> None:
    first, second = write(0, 1, 0, 1), write(1, 2, 2, 3)
    elsewhere = on("r1", write(2, 3, 4, 5))
    log = matched([first, second, elsewhere], ("r0", 1, "v0"), ("r0", 2, "v1"), ("r1", 3, "v2"))
    operations = log._ops

    assert log.sent_last_before(operations[0]) is None
    assert log.sent_last_before(operations[1]) == operations[0]
    assert log.sent_last_before(operations[2]) is None


def test_a_fence_was_sent_to_its_own_resource() -> None:
    fences = [on(f"r{i}", fenced(write(i, 1 if i else 2, 2 * i, 2 * i + 1))) for i in range(4)]

    log = matched(fences, *((f"r{i}", 1 if i else 2, None) for i in range(4)))

    assert log.sender.tolist() == [0, 1, 2, 3]
