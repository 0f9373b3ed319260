"""The answer of a valid run in which no fault was counted: it must not look green."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.history.records import Header, History, Op, Outcome
from checkers.vocabulary.document import VerdictDocument
from checkers.vocabulary.reasons import RUN_LONGER, Reason, ReasonKind
from harness.report.answer import answer
from harness.report.headline import Tone
from tests.support.lock_requests import fault
from tests.support.verdicts import verdict_of

HELD = {"stale_writes_attempted": 13, "stale_writes_rejected": 13, "stale_writes_accepted": 0, "grants": 50}


def verdict(**fields: object) -> VerdictDocument:
    return verdict_of({"verdict": "valid", "as_expected": True, "coverage": HELD, **fields})


COULD_HIT = {"hit": {}, "missed": ["granted/superseded/holder"], "possible": 1}


def test_a_valid_run_without_a_counted_fault_does_not_look_green() -> None:
    header = Header(target="mine", ttl=1_000_000)
    granted = Op(index=0, process=0, f="acquire", resource="r", called=0, returned=1, outcome=Outcome.OK)
    history = History(header=header, operations=(granted,))

    said = answer(verdict(hazards=COULD_HIT), "mine", history)

    assert said.headline == (
        "No fault was counted: the fence held, 13 of 13 stale writes refused, 0 of 1 dangerous moments tried"
    )
    assert said.tone is Tone.NEUTRAL
    assert said.verdict == "Verdict: valid, as this target expects"
    assert said.matters.endswith("the run says nothing about the faults of this target.")
    assert said.remedy == "The lease of 1 ms is over before any fault begins: set lock.ttl to 100 ms or more."
    assert answer(verdict(hazards=COULD_HIT), "mine").remedy.startswith("Run longer, or with other faults;")


@pytest.mark.parametrize(
    "fields", [{"hazards": COULD_HIT, "coverage": HELD | {"pauses": 1}}, {"hazards": {"hit": {}}}, {}]
)
def test_a_run_with_a_counted_fault_or_without_any_stays_green(fields: dict[str, object]) -> None:
    said = answer(verdict(**fields), "mine")

    assert (said.label, said.tone) == ("The fence held", Tone.GOOD)


def test_a_run_that_had_faults_is_not_told_to_have_some() -> None:
    reasons = [Reason(ReasonKind.NOT_EXERCISED, "8 of 20 dangerous moments tried", RUN_LONGER)]
    document = verdict_of({"verdict": "unknown", "as_expected": False, "coverage": HELD, "reasons": reasons})
    had = History(header=Header(target="mine"), operations=(), faults=tuple(fault("client:0", 1, 2)))
    without = replace(had, faults=())

    assert answer(document, "mine", had).remedy.startswith("Run longer: set workload.duration")
    assert answer(document, "mine", without).remedy.startswith("Run longer, or with faults")
