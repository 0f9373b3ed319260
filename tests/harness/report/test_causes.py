"""The cause of a finding in words, as its verdict has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkers.history.records import FaultEvent, History
from harness.report.causes import Openings
from tests.support.paused_writer import SECOND, STALE, paused_history
from tests.support.verdicts import finding_of


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

    assert Openings(history).is_unexplained(unexplained)
    assert not Openings(history).is_unexplained(finding_of(STALE))
    assert not Openings(history).is_unexplained(finding_of(STALE | {"cause": None, "caused_by": earlier}))
    assert not Openings(replace(history, faults=())).is_unexplained(unexplained)


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
