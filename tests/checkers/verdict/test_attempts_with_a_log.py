"""Which rejected writes count as stale ones that were tried, by what the commit log proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.evidence import gather
from checkers.history.records import Commit, Header, History, Op
from checkers.verdict.coverage import attempts
from tests.support.brute_force import operation
from tests.support.lock_requests import fault

# Tokens: a strict fence refuses the holder's second write without a challenge.
OWN, NEWER, REFUSED = 33, 40, 33
LOGGED_FENCE = Commit(seq=0, resource="r0", token=1, fence=True)
"""It shows that the storage logs fences."""


def op(f: str, token: int, called: int, returned: int | None = None, outcome: str = "ok") -> Op:
    """An operation on r0; without a return it ended in info. Its value is its token and its call."""
    known = "info" if returned is None else "fail" if outcome == "stale" else "ok"
    value = f"{token} at {called}" if f == "write" else None
    error = "stale" if outcome == "stale" else None
    return operation(f, called, called, returned, known, token=token, value=value, error=error, learned=None)


def logged(sent: Op, token: int | None = None) -> Commit:
    """What the storage has of it, with its own token or another."""
    stored = sent.token if token is None else token
    return Commit(seq=0, resource="r0", token=stored, value=sent.value, fence=sent.f == "fence")


def tried(
    operations: Sequence[Op], log: Sequence[Commit] | None, restart: tuple[int, int] | None = None
) -> int:
    """How many stale writes were tried and rejected."""
    counts = _counts(operations, log, restart)
    rejected = counts["stale_writes_rejected"]
    assert counts["stale_writes_attempted"] == rejected + counts["stale_writes_accepted"]
    return rejected


def accepted(operations: Sequence[Op], log: Sequence[Commit]) -> int:
    """How many stale writes were tried and accepted."""
    return _counts(operations, log, None)["stale_writes_accepted"]


def _counts(
    operations: Sequence[Op], log: Sequence[Commit] | None, restart: tuple[int, int] | None
) -> dict[str, int]:
    faults = () if restart is None else tuple(fault("storage", *restart, "kill"))
    ordered = sorted(operations, key=lambda each: each.called)
    history = History(
        header=Header(target="t", policy="strict"),
        operations=tuple(replace(each, index=index) for index, each in enumerate(ordered)),
        faults=faults,
    )
    commits = None if log is None else [replace(each, seq=seq) for seq, each in enumerate(log, start=1)]
    return attempts(gather(history, commits, same_run=True))


FIRST = op("write", OWN, 1, 2)
SECOND = op("write", REFUSED, 5, 6, "stale")
KINDS = pytest.mark.parametrize("f", ["write", "fence"])


@KINDS
def test_without_a_log_an_unanswered_newer_token_may_be_the_cause(f: str) -> None:
    assert tried([FIRST, op(f, NEWER, 3), SECOND], None) == 1


@KINDS
def test_what_a_complete_log_lacks_challenged_nothing(f: str) -> None:
    log = [LOGGED_FENCE, logged(FIRST)]

    assert tried([FIRST, op(f, NEWER, 3), SECOND], log) == 0


@pytest.mark.parametrize(("f", "number"), [("write", 0), ("fence", 1)])
def test_a_log_without_any_fence_may_not_log_them(f: str, number: int) -> None:
    assert tried([FIRST, op(f, NEWER, 3), SECOND], [logged(FIRST)]) == number


@KINDS
@pytest.mark.parametrize(("called", "number"), [(6, 1), (7, 0)])
def test_what_the_log_has_may_be_the_cause_if_it_was_called_by_then(f: str, called: int, number: int) -> None:
    newer = op(f, NEWER, called)

    assert tried([FIRST, SECOND, newer], [LOGGED_FENCE, logged(FIRST), logged(newer)]) == number


@KINDS
@pytest.mark.parametrize(("called", "number"), [(6, 1), (7, 0)])
def test_what_took_effect_after_a_later_call_is_no_cause(f: str, called: int, number: int) -> None:
    newer, between = op(f, NEWER, 3), op("write", 34, called, 8)

    log = [LOGGED_FENCE, logged(FIRST), logged(between), logged(newer)]

    assert tried([FIRST, newer, SECOND, between], log) == number


def test_an_operation_against_the_order_of_the_log_moves_no_cause() -> None:
    newer, against = op("write", NEWER, 3, 4), op("write", 34, 7, 8)

    assert tried([FIRST, newer, SECOND, against], [logged(FIRST), logged(against), logged(newer)]) == 1


def test_what_was_called_too_late_for_its_place_is_no_cause() -> None:
    newer = op("write", NEWER, 7, 8)

    assert tried([FIRST, SECOND, newer], [logged(newer), logged(FIRST)]) == 0


@KINDS
def test_what_nobody_is_known_to_have_sent_may_be_the_cause(f: str) -> None:
    stray = op(f, NEWER, 0)

    assert tried([FIRST, SECOND], [LOGGED_FENCE, logged(FIRST), logged(stray)]) == 1


@KINDS
def test_a_refused_operation_that_took_effect_may_be_the_cause(f: str) -> None:
    ghost = op(f, NEWER, 3, 4, "stale")

    assert tried([FIRST, ghost, SECOND], [LOGGED_FENCE, logged(FIRST), logged(ghost)]) == 1


@pytest.mark.parametrize(("sent", "stored", "number"), [(33, 40, 1), (40, 33, 0)])
def test_the_token_that_was_stored_decides(sent: int, stored: int, number: int) -> None:
    other = op("write", sent, 3, 4)

    assert tried([other, SECOND], [logged(other, stored)]) == number


@KINDS
@pytest.mark.parametrize(("healed", "number"), [(4, 0), (5, 1)])
def test_what_a_restart_has_undone_before_is_no_cause(f: str, healed: int, number: int) -> None:
    log = [LOGGED_FENCE, logged(FIRST)]

    assert tried([FIRST, op(f, NEWER, 3), SECOND], log, (4, healed)) == number


@KINDS
def test_what_was_called_after_the_restart_was_not_undone_by_it(f: str) -> None:
    assert tried([FIRST, op(f, NEWER, 5), SECOND], [LOGGED_FENCE, logged(FIRST)], (3, 4)) == 0


def test_the_fence_of_the_log_may_be_either_of_two_with_its_token() -> None:
    early, late = op("fence", NEWER, 3), op("fence", NEWER, 7, 8)

    assert tried([FIRST, early, SECOND, late], [logged(FIRST), logged(late)]) == 1


@KINDS
def test_an_acknowledged_one_that_the_log_lacks_may_be_the_cause(f: str) -> None:
    assert tried([FIRST, op(f, NEWER, 3, 4), SECOND], [LOGGED_FENCE, logged(FIRST)]) == 1


def test_a_fence_below_the_mark_raises_nothing() -> None:
    fence, newer = op("fence", NEWER, 3, 9), op("write", 41, 7, 8)

    assert tried([FIRST, fence, SECOND, newer], [LOGGED_FENCE, logged(FIRST), logged(newer)]) == 0


def test_an_acknowledged_fence_at_the_initial_token_is_a_challenge() -> None:
    operations = [op("fence", 0, 1, 2), op("write", -1, 3, 4, "stale")]

    assert tried(operations, [LOGGED_FENCE]) == 1


def test_a_read_after_a_fence_may_return_what_was_written_before_it() -> None:
    write, fence = op("write", NEWER, 1, 4), op("fence", NEWER + 1, 3, 4)
    read = replace(op("read", NEWER, 9, 10), value=write.value)
    stray = logged(op("write", NEWER, 0))

    assert accepted([write, fence, read], [stray, logged(write)]) == 0  # stale under a strict fence
