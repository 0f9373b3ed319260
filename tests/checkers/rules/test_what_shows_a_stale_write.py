"""Stale writes: the log decides where there is one, and what clients saw where there is none."""

from __future__ import annotations

from checkers.facts.evidence import gather
from checkers.history.records import Commit, Op
from checkers.rules.registers import stale_writes_of
from tests.support.brute_force import fenced, history_of, renumbered, write


def accused(*operations: Op, log: list[tuple[str, int]] | None) -> list[int]:
    """Who is accused; `log` has the values and the tokens in the storage's own order."""
    committed = [
        Commit(seq=seq, resource="r0", token=token, value=value)
        for seq, (value, token) in enumerate(log or [], start=1)
    ]
    evidence = gather(history_of(renumbered(operations)), None if log is None else committed)
    return [each.accused.index for each in stale_writes_of(evidence)]


def test_a_write_that_only_the_log_shows_to_be_stale() -> None:
    unknown, late = write(0, 2, 0, 9, "info"), write(1, 1, 2, 3)

    assert accused(unknown, late, log=[("v0", 2), ("v1", 1)]) == [1]
    assert accused(unknown, late, log=[("v1", 1), ("v0", 2)]) == []
    assert accused(unknown, late, log=None) == []


def test_without_a_log_real_time_shows_a_stale_write() -> None:
    assert accused(write(0, 2, 0, 1), write(1, 1, 2, 3), log=None) == [1]


def test_a_write_after_a_fence_that_is_not_logged_is_stale() -> None:
    assert accused(fenced(write(0, 5, 0, 1)), write(1, 1, 2, 3), log=[("v1", 1)]) == [1]
