"""Writes without a token: what shows that each took effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from checkers.facts.evidence import gather
from checkers.history.records import Commit, Op, Outcome
from checkers.verdict.judge import examine
from tests.support.brute_force import history_of, read, renumbered, write

LOST: dict[str, Any] = {"outcome": Outcome.INFO, "returned": None}


def bare(write: Op, **changes: Any) -> Op:
    return replace(write, token=None, **changes)


def shown(*operations: Op, log: Sequence[Commit] | None = None) -> list[tuple[int, ...]]:
    """The operations that show it, for each write without a token."""
    found = examine(gather(history_of(renumbered(operations)), log)).findings
    return [each.because for each in found if each.anomaly == "unfenced-write"]


def test_its_answer_shows_that_a_write_took_effect() -> None:
    assert shown(bare(write(0, 1, 0, 1)), read(1, ("v0", None), 2, 3)) == [()]


def test_the_first_read_of_it_shows_that_an_unanswered_write_took_effect() -> None:
    lost = bare(write(0, 1, 0, 1), **LOST)

    assert shown(lost, read(1, ("v0", None), 2, 3), read(2, ("v0", None), 4, 5)) == [(1,)]


def test_the_log_shows_that_an_unanswered_write_took_effect() -> None:
    lost = bare(write(0, 1, 0, 1), **LOST)
    log = [Commit(seq=1, resource="r0", token=None, value="v0")]

    assert shown(lost, read(1, ("v0", None), 2, 3), log=log) == [()]
