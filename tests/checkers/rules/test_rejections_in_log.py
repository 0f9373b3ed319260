"""With a commit log: had a rejection a cause there, or in what the log may have lost?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.evidence import gather
from checkers.history.records import Commit, FaultEvent, Op
from checkers.rules.rejections import of_logged
from tests.support.brute_force import fenced as fence_of
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.commit_logs import log

RESTARTED = [
    FaultEvent(time=time, kind="restart", target="storage", state=state, evidence="")
    for time, state in ((1, "in force"), (2, "healed"))
]


def found(
    *operations: Op, commits: Sequence[Commit], fenced: bool = True, restarted: bool = False
) -> list[tuple[str, int]]:
    history = history_of(renumbered(operations), fenced=fenced)
    history = replace(history, faults=tuple(RESTARTED) * restarted)
    return [(each.anomaly, each.accused.index) for each in of_logged(gather(history, commits, same_run=True))]


REFUSED = write(9, 3, 4, 5, "stale")
FALSE = [("false-rejection", 1)]


@pytest.mark.parametrize(("called", "expected"), [(5, []), (6, [("false-rejection", 0)])])
def test_a_logged_write_is_a_cause_if_sent_before_the_rejection_returned(
    called: int, expected: list[tuple[str, int]]
) -> None:
    assert found(REFUSED, write(1, 5, called, 9), commits=log((5, "v1"))) == expected


@pytest.mark.parametrize(("called", "expected"), [(5, []), (6, [("false-rejection", 0)])])
def test_a_fence_is_a_cause_where_the_log_has_no_fences(called: int, expected: list[tuple[str, int]]) -> None:
    fence = fence_of(write(1, 5, called, 9, "info"))

    assert found(REFUSED, fence, write(2, 1, 10, 11), commits=log((1, "v2"))) == expected


@pytest.mark.parametrize(("called", "expected"), [(2, []), (3, FALSE)])
def test_a_fence_that_was_sent_until_a_restart_may_be_gone_from_the_log(
    called: int, expected: list[tuple[str, int]]
) -> None:
    gone, logged = (fence_of(write(i, 9 - i, called + 8 * i, 30, "info")) for i in (0, 1))

    assert found(gone, REFUSED, logged, commits=log((8, None)), restarted=True) == expected


@pytest.mark.parametrize(("outcome", "expected"), [("info", []), ("stale", FALSE)])
def test_an_unknown_write_may_be_gone_from_the_log_a_failed_one_never_was(
    outcome: str, expected: list[tuple[str, int]]
) -> None:
    failed = replace(write(0, 9, 0, 3, outcome), error=None)

    assert found(failed, REFUSED, write(2, 1, 6, 7), commits=log((1, "v2")), restarted=True) == expected


@pytest.mark.parametrize(("fenced", "expected"), [(True, [("non-linearizable", 3)]), (False, [])])
def test_a_refusal_shows_the_order_only_where_a_fence_is_promised(
    fenced: bool, expected: list[tuple[str, int]]
) -> None:
    operations = write(0, 1, 0, 1), write(1, 5, 2, 9, "info"), REFUSED, read(3, ("v0", 1), 6, 7)

    assert found(*operations, commits=log((1, "v0"), (5, "v1")), fenced=fenced) == expected
