"""Lost writes: what shows that the storage went back for good, at the boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import gather
from checkers.history.records import Commit, FaultEvent, Op
from checkers.rules.lost_writes import lost_in_log
from checkers.rules.registers import observed
from tests.support.brute_force import fenced as fence_of
from tests.support.brute_force import history_of, read, renumbered, write

BACK = [write(0, 2, 0, 1), write(1, 4, 2, 3), read(2, ("v0", 2), 4, 5)]
"""A storage that had token 4 went back to token 2."""


def found(operations: Sequence[Op], *, strict: bool = True, fenced: bool = True) -> list[Conflict]:
    return list(observed(gather(history_of(renumbered(operations), strict=strict, fenced=fenced))))


def restarted(began: int, *operations: Op) -> list[tuple[str, list[int]]]:
    """What is found after a restart that began then: each with the proof."""
    restart = FaultEvent(time=began, kind="restart", target="storage", state="in force", evidence="")
    history = history_of(renumbered(operations))
    history = replace(history, faults=(restart, replace(restart, state="healed")))
    return [(each.anomaly, [op.index for op in each.because]) for each in observed(gather(history))]


def is_lost(*more: Op, strict: bool = True, fenced: bool = True) -> bool:
    conflicts = found([*BACK, *more], strict=strict, fenced=fenced)
    return any(each.anomaly == "lost-write" for each in conflicts)


@pytest.mark.parametrize(
    ("strict", "lost"),
    [(True, {1: False, 2: False, 3: True, 4: True}), (False, {1: False, 2: True, 3: True})],
)
def test_a_write_shows_a_loss_that_the_mark_of_the_past_lets_through(
    strict: bool, lost: dict[int, bool]
) -> None:
    assert {token: is_lost(write(3, token, 6, 7), strict=strict) for token in lost} == lost


def test_a_write_that_was_sent_before_the_read_returned_shows_no_loss() -> None:
    assert is_lost(write(3, 3, 6, 7))
    assert not is_lost(write(3, 3, 5, 7))
    assert not is_lost(write(3, 3, 4, 7))


def test_without_a_fence_no_write_shows_a_loss() -> None:
    assert not is_lost(write(3, 3, 6, 7), fenced=False)


def test_a_write_that_a_newer_one_proves_stale_does_not_follow_from_a_loss() -> None:
    conflicts = found([*BACK, write(3, 5, 6, 7), write(4, 3, 8, 9)])

    assert [each.anomaly for each in conflicts] == ["lost-write", "stale-write"]
    assert conflicts[1].cause is None


@pytest.mark.parametrize(("restarted", "lost"), [(1, []), (2, [("lost-write", 1)])])
def test_a_fence_from_before_a_restart_that_the_log_lacks_is_a_lost_write(
    restarted: int, lost: list[tuple[str, int]]
) -> None:
    operations = [write(0, 1, 0, 1), fence_of(write(1, 2, 2, 3)), fence_of(write(2, 3, 8, 9))]
    restart = FaultEvent(time=restarted, kind="restart", target="storage", state="in force", evidence="")
    history = replace(history_of(renumbered(operations)), faults=(restart, replace(restart, state="healed")))
    commits = [
        Commit(seq=1, resource="r0", token=1, value="v0"),
        Commit(seq=2, resource="r0", token=3, fence=True),
    ]

    conflicts = lost_in_log(gather(history, commits))

    assert [(each.anomaly, each.accused.index) for each in conflicts] == lost


def test_a_value_that_came_back_after_a_restart_was_not_lost() -> None:
    back = read(3, ("v1", 4), 6, 7)

    assert restarted(4, *BACK) == [("lost-write", [0, 2])]
    assert restarted(4, *BACK, back) == [("stale-read", [1, 3])]
    assert restarted(6, *BACK, back) == [("stale-read", [1])]


@pytest.mark.parametrize(("returned", "is_lost"), [(1, True), (2, False)])
def test_only_what_a_value_surely_replaced_is_older(returned: int, is_lost: bool) -> None:
    conflicts = found([write(0, 2, 0, returned), *BACK[1:], write(3, 3, 6, 7)])

    assert ("lost-write" in {each.anomaly for each in conflicts}) == is_lost
