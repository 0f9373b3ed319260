"""The fault that is named as what opened the window: only one that the history supports."""

from __future__ import annotations

from typing import Any

from checkers.history.faults import Fault
from checkers.history.reader import Header, Op, Outcome
from checkers.vocabulary.fault_kinds import words_of
from harness.report.window import Cause, Claim, opening

FENCED = Header(target="t", clients=3)
UNFENCED = Header(target="t", clients=3, fenced=False)


def op(index: int, f: str, process: int, called: int, returned: int, **fields: Any) -> Op:
    defaults: dict[str, Any] = {"resource": "r0", "outcome": Outcome.OK, "learned": returned}
    return Op(index=index, f=f, process=process, called=called, returned=returned, **(defaults | fields))


def fault(kind: str, target: str, began: int, healed: int, owner: str | None = None) -> Fault:
    return Fault(
        kind=kind,
        target=target,
        began=began,
        healed=healed,
        owner=owner,
        resource="r0",
        lines=(began,),
        words=words_of(kind, None),
    )


OLD = op(0, "acquire", 0, 0, 10, token=1, owner="old", ttl=50)
NEW = op(1, "acquire", 1, 20, 70, token=2, owner="new", ttl=50)
NEWER = op(2, "write", 1, 80, 90, token=2, value="new")
STALE = op(3, "write", 0, 110, 120, token=1, value="old")
PAUSE = fault("pause", "client:0", 15, 100, "old")
GRANTS = {1: OLD, 2: NEW}


def grant_behind(operation: Op) -> Op | None:
    return GRANTS.get(operation.token or 0)


def stale(*faults: Fault, header: Header = UNFENCED) -> Cause | None:
    claim = Claim(anomaly="stale-write", proof=(NEWER, STALE), accused=(STALE,), against=(NEWER,))
    return opening(claim, grant_behind, faults, header)


def test_a_pause_during_which_the_lock_was_granted_to_another_is_the_cause() -> None:
    assert stale(PAUSE) == Cause(fault=PAUSE, certain=True)


def test_a_pause_that_ended_before_the_next_grant_is_only_probable() -> None:
    short = fault("pause", "client:0", 15, 30, "old")

    assert stale(short) == Cause(fault=short, certain=False)


def test_a_pause_of_another_hold_explains_nothing() -> None:
    assert stale(fault("pause", "client:0", 15, 100, "another")) is None


def test_a_pause_of_the_one_who_wrote_first_explains_nothing() -> None:
    assert stale(fault("pause", "client:1", 75, 85, "new")) is None


def test_a_fence_that_forgot_in_a_restart_is_laid_to_the_restart() -> None:
    kill = fault("kill", "storage", 92, 105)

    assert stale(PAUSE, kill, header=FENCED) == Cause(fault=kill, certain=False)
    assert stale(PAUSE, kill, header=UNFENCED) == Cause(fault=PAUSE, certain=True)


def test_a_restart_before_either_write_is_no_cause_of_a_stale_write() -> None:
    kill = fault("kill", "storage", 30, 40)

    assert stale(PAUSE, kill, header=FENCED) == Cause(fault=PAUSE, certain=True)


def test_an_early_grant_is_never_laid_to_a_pause_of_its_victim() -> None:
    claim = Claim(anomaly="early-grant", proof=(OLD, NEW), accused=(NEW,), against=(OLD,))

    assert opening(claim, grant_behind, [PAUSE], FENCED) is None


def test_an_early_grant_is_laid_to_the_pause_of_the_releasing_client() -> None:
    release = op(4, "release", 2, 5, 60, owner="third")
    pause = fault("pause", "client:2", 6, 58, "third")
    claim = Claim(anomaly="early-grant", proof=(OLD, NEW), accused=(NEW,), against=(OLD,), named=(release,))

    assert opening(claim, grant_behind, [PAUSE, pause], FENCED) == Cause(fault=pause, certain=False)


def test_an_early_grant_after_a_clock_jump_is_probably_due_to_it() -> None:
    jump = fault("clock", "lock:redis-3", 30, 200)
    claim = Claim(anomaly="early-grant", proof=(OLD, NEW), accused=(NEW,), against=(OLD,))

    assert opening(claim, grant_behind, [PAUSE, jump], FENCED) == Cause(fault=jump, certain=False)


def test_a_rejection_without_a_cause_is_the_storage_s_own_doing() -> None:
    rejected = op(5, "write", 0, 110, 120, token=1, outcome=Outcome.FAIL, error="stale")
    claim = Claim(anomaly="false-rejection", proof=(rejected,), accused=(rejected,), against=())

    assert opening(claim, grant_behind, [PAUSE, fault("kill", "storage", 92, 105)], FENCED) is None


def test_a_write_was_lost_in_the_restart_that_came_after_it() -> None:
    lost = op(6, "write", 0, 12, 14, token=1, value="old")
    kill = fault("kill", "storage", 92, 105)
    claim = Claim(anomaly="lost-write", proof=(lost,), accused=(lost,), against=())

    assert opening(claim, grant_behind, [PAUSE, kill], FENCED) == Cause(fault=kill, certain=False)
