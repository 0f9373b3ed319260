"""Causes in words, how hard a run tried, and what it gave the checkers nothing to compare for."""

from dataclasses import replace
from typing import Any

import pytest

from checkers.history.records import FaultEvent, History, Op, Outcome
from harness.nemesis.faults import FAULTS
from harness.report.causes import NO_CAUSE, Openings
from harness.report.counters import untested
from harness.report.effort import effort, moments
from tests.support.printed_verdicts import SECOND, STALE, paused_history
from tests.support.verdicts import finding_of, verdict_of


def opened(finding: dict[str, Any], history: History) -> str | None:
    opening = Openings(history).of(finding_of(finding))
    return "; ".join(": ".join(said) for said in opening.in_words(history.started, None)) if opening else None


def test_the_fault_that_the_verdict_names_is_told_with_its_evidence() -> None:
    assert opened(STALE, paused_history()) == (
        "Cause: client 1 was paused 0.500–4.000 s; observed: status is stopped"
    )


def test_a_cause_that_only_fits_is_probable() -> None:
    probable = STALE | {"cause": {"certain": False, "fault": "pause", "faults": [11]}}

    assert str(opened(probable, paused_history())).startswith("Probable cause: client 2 was")


def test_a_late_call_of_another_owner_is_a_cause() -> None:
    freed = STALE | {"cause": {"certain": False, "operations": [6, 7]}}
    history = paused_history()
    release = replace(history.operations[2], f="release")
    history = replace(history, operations=(*history.operations[:2], release, history.operations[3]))

    assert opened(freed, history) == (
        "Probable cause: process 2 sent the release of another hold at 3.000 s (line 6), and got its ok"
    )


def test_a_late_renew_is_called_a_renewal() -> None:
    kept = STALE | {"cause": {"certain": False, "operations": [6, 7]}}
    history = paused_history()
    renewal = replace(history.operations[2], f="renew")
    history = replace(history, operations=(*history.operations[:2], renewal, history.operations[3]))
    opening = Openings(history).of(finding_of(kept))

    assert opening is not None
    assert opening.kind == "late renewal"
    assert "sent the renewal of another hold" in str(opened(kept, history))


def test_a_finding_is_unexplained_if_none_of_the_faults_is_its_cause() -> None:
    history, unexplained = paused_history(), finding_of(STALE | {"cause": None})
    earlier = {"anomaly": "duplicate-token", "summary": "!", "operations": [2, 3]}

    assert Openings(history).in_words(unexplained) == (NO_CAUSE,)
    assert NO_CAUSE not in Openings(history).in_words(finding_of(STALE))
    assert not Openings(history).in_words(finding_of(STALE | {"cause": None, "caused_by": earlier}))
    assert not Openings(replace(history, faults=())).in_words(unexplained)


def test_a_finding_without_a_cause_names_none() -> None:
    assert opened(STALE | {"cause": None}, paused_history()) is None
    assert opened(STALE | {"cause": {"certain": True, "faults": [999]}}, paused_history()) is None


def test_a_finding_that_follows_from_another_has_that_as_its_cause() -> None:
    earlier = {"anomaly": "duplicate-token", "summary": "!", "operations": [2, 3]}

    assert opened(STALE | {"caused_by": earlier}, paused_history()) is None


def test_another_fault_that_the_steps_name_is_told_with_its_evidence() -> None:
    history = paused_history()
    split = [
        FaultEvent(
            time=time * SECOND,
            kind="partition",
            target="lock:etcd-1",
            state=state,
            evidence=f"{state}",
            line=line,
        )
        for time, state, line in ((1, "in force", 90), (3, "healed", 91))
    ]
    history = replace(history, faults=(*history.faults, *split))

    assert opened(STALE | {"step_faults": [[10, 12], [90, 91]]}, history) == (
        "Cause: client 1 was paused 0.500–4.000 s; observed: status is stopped; "
        "Also in force: the lock service (etcd-1) was cut off 0.000–2.000 s; observed: in force"
    )


def test_two_faults_in_the_same_words_are_named_once() -> None:
    history = paused_history()
    opening = Openings(history).of(finding_of(STALE))
    assert opening is not None
    assert opening.fault is not None

    twice = replace(opening, others=((opening.fault, opening.evidence),))

    assert twice.in_words(history.started, None) == opening.in_words(history.started, None)


def said(hit: dict[str, int] | None = None, **counts: int) -> str:
    return effort(verdict_of({"coverage": counts, "hazards": None if hit is None else {"hit": hit}}))


NONE_STALE = {"stale_writes_attempted": 0, "stale_writes_rejected": 0, "stale_writes_accepted": 0}
SUPERSEDED = {
    "before-write/superseded/holder": 4,
    "granted/superseded/holder": 5,
    "renewing/expired/holder": 2,
}
LATE = {"pauses": 6, "late_writes_attempted": 6, **NONE_STALE}
NO_HOLDERS = ("waiter", "lock", "storage/delayed")
TAKEN_OVER = {"pauses": 11, "grants_to_others": 12, "pauses_past_lease": 11}
REGRANTED = {"before-write/regranted/holder": 1}


@pytest.mark.parametrize(
    ("hit", "counts", "words"),
    [
        (SUPERSEDED, TAKEN_OVER, "11 pauses; 9 times, another client took over and wrote meanwhile"),
        (
            REGRANTED,
            {"pauses": 1, "grants_to_others": 1},
            "1 pause; once, another client got the lock meanwhile",
        ),
        *(({f"write-sent/superseded/{each}": 3}, {"pauses": 3}, "3 pauses") for each in NO_HOLDERS),
        (None, {"pauses": 3, "pauses_past_lease": 1}, "3 pauses; 1 pause outlived the holder's lease"),
        (
            None,
            {"pauses": 2, "partitions": 0, "kills": 1, "clock_jumps": 3},
            "2 pauses, 1 kill and 3 clock jumps",
        ),
        (None, {"grants": 4, "disk_stalls": 1}, "disk stalls ×1"),  # a kind that only the history knows
        (None, {"grants": 75}, "no fault counted; the lock was granted 75 times"),
        (None, {"grants": 0}, "no fault counted"),
        (None, {"pauses": 6, **NONE_STALE}, "6 pauses; no stale write attempted"),
        (None, LATE, "6 pauses; no stale write attempted, 6 late writes"),
    ],
)
def test_a_run_says_how_hard_it_tried(hit: dict[str, int] | None, counts: dict[str, int], words: str) -> None:
    assert said(hit, **counts) == words


@pytest.mark.parametrize("kind", sorted(kind for kind, spec in FAULTS.items() if spec.words.count))
def test_every_kind_of_fault_is_named_in_singular_and_plural(kind: str) -> None:
    spec = FAULTS[kind]

    assert said(**{spec.words.count or "": 1}) == f"1 {spec.called}"
    assert said(**{spec.words.count or "": 1_200}) == f"1,200 {spec.called}s"


@pytest.mark.parametrize(
    ("attempted", "rejected", "accepted", "words"),
    [
        (1, 1, 0, "1 stale write, refused"),
        (9, 9, 0, "9 stale writes, all refused"),
        (1, 0, 1, "1 stale write, accepted"),
        (9, 0, 9, "9 stale writes, all accepted"),
        (9, 6, 3, "9 stale writes: 6 refused, 3 accepted"),
        (9, 6, 1, "9 stale writes: 6 refused, 1 accepted, 2 unknown"),
        (1, 0, 0, "1 stale write: 0 refused, 0 accepted, 1 unknown"),
    ],
)
def test_outcomes_of_stale_writes_add_up(attempted: int, rejected: int, accepted: int, words: str) -> None:
    counts = {"attempted": attempted, "rejected": rejected, "accepted": accepted}

    assert said(pauses=9, **{f"stale_writes_{name}": number for name, number in counts.items()}) == (
        f"9 pauses; {words}"
    )


def test_moments_count_those_that_no_fault_tried() -> None:
    hazards = {"hit": {}, "missed": ["renewing/expired/holder"], "possible": 3, "untried": 21}

    assert moments(verdict_of({"hazards": hazards})) == "2 of 24 dangerous moments tried"


def test_a_target_that_can_hit_no_moment_counts_none() -> None:
    assert moments(verdict_of({})) == ""
    assert moments(verdict_of({"hazards": {"hit": {"before-write/superseded/holder": 1}}})) == ""


def op(f: str, *, token: int | None = None) -> Op:
    return Op(index=0, process=0, f=f, resource="r0", called=1, returned=2, outcome=Outcome.OK, token=token)


@pytest.mark.parametrize(
    ("operations", "lacking"),
    [
        ((), {}),
        ((op("acquire", token=1), op("read"), op("write", token=1)), {"lost-update": "no appends"}),
        ((op("acquire", token=1), op("append", token=1)), {}),
        (
            (op("acquire", token=1), op("write", token=1)),
            {"lost-update": "no appends", "stale-read": "no reads"},
        ),
        ((op("acquire"), op("append")), {"duplicate-token": "no tokens", "token-regression": "no tokens"}),
    ],
)
def test_the_run_lacked(operations: tuple[Op, ...], lacking: dict[str, str]) -> None:
    assert untested(operations) == lacking
