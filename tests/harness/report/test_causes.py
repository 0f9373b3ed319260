"""The fault behind a finding, as far as the history supports one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkers import FaultEvent, History
from harness.report.causes import Openings
from tests.support.paused_writer import SECOND, STALE, paused_history
from tests.support.verdicts import finding_of


def opened(finding: dict[str, Any], history: History) -> str | None:
    opening = Openings(history).of(finding_of(finding))
    return "; ".join(": ".join(said) for said in opening.in_words(history.started)) if opening else None


def test_the_fault_behind_it_hit_the_hold_with_the_lowest_token() -> None:
    assert opened(STALE, paused_history()) == (
        "Cause: client 1 was paused 0.500–4.000 s; observed: status is stopped"
    )


def test_a_finding_that_no_fault_explains_names_none() -> None:
    assert str(opened(STALE | {"operations": [6, 7]}, paused_history())).startswith(
        "Probable cause: client 2 was"
    )
    assert opened(STALE | {"operations": []}, paused_history()) is None


def test_a_fault_that_came_afterwards_opened_no_window() -> None:
    assert opened(STALE | {"operations": [2, 3]}, paused_history()) is None


def test_of_several_faults_during_a_single_operation_the_first_was_enough() -> None:
    def cut(time: Any, state: Any) -> FaultEvent:
        return FaultEvent(
            time=time, kind="partition", target="client:1", state=state, evidence="cut off", owner="1-1"
        )

    history = paused_history()
    write = replace(history.operations[3], called=6 * SECOND, returned=10 * SECOND)
    faults = [cut(7 * SECOND, "in force"), cut(8 * SECOND, "healed"), cut(9 * SECOND, "in force")]
    history = replace(history, operations=(*history.operations[:3], write), faults=(*history.faults, *faults))

    assert opened(STALE | {"operations": [8, 9]}, history) == (
        "Probable cause: client 1 was cut off 6.000–7.000 s; observed: cut off"
    )


def test_what_a_service_did_wrong_is_laid_to_the_last_fault_on_its_servers() -> None:
    def kill(time: Any, state: Any, target: Any) -> FaultEvent:
        return FaultEvent(time=time * SECOND, kind="kill", target=target, state=state, evidence="exited")

    history = paused_history()
    faults = [
        kill(2, "in force", "lock:redis-1"),
        kill(3, "in force", "storage"),
        kill(4, "healed", "lock:redis-1"),
    ]
    history = replace(history, faults=(*history.faults, *faults))
    regression = STALE | {"anomaly": "token-regression", "operations": [2, 3, 4, 5]}

    assert opened(regression, history) == (
        "Probable cause: the lock service (redis-1) was down 1.000–3.000 s; observed: exited"
    )
    assert str(opened(STALE | {"operations": [2, 3, 4, 5]}, history)).startswith(
        "Probable cause: the storage was down"
    )
    assert opened(regression | {"operations": [2, 3]}, history) is None


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
    step = "When the lease with token 5 ended, at 4.000 s, another fault was in force: the lock service was cut off (lines 90 and 91)."

    assert opened(STALE | {"steps": [step]}, history) == (
        "Cause: client 1 was paused 0.500–4.000 s; observed: status is stopped; "
        "Also in force: the lock service (etcd-1) was cut off 0.000–2.000 s; observed: in force"
    )


def test_two_faults_in_the_same_words_are_named_once() -> None:
    history = paused_history()
    finding = STALE | {"steps": ["1. line 4 and line 10"]}
    opening = Openings(history).of(finding_of(finding))
    assert opening is not None

    twice = replace(opening, others=((opening.cause.fault, opening.evidence),))

    assert twice.in_words(history.started) == opening.in_words(history.started)
