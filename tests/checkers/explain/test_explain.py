"""A finding reads as a newcomer needs it: one sentence, then because-steps with lines and times."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any, NoReturn

import pytest

import fencepost
from checkers.explain import shapes
from checkers.explain.conflict import Breach, Conflict
from checkers.facts.evidence import gather
from checkers.rules import registers
from checkers.rules.stale_writes import by_clients
from checkers.verdict.findings import doubts_of, explained
from tests.support.literal_histories import BAD, judged, read
from tests.support.repository import HISTORIES


def test_a_read_without_a_token_contradicts_by_that_of_its_value() -> None:
    lines = [
        '{"fencepost":1,"target":"t","policy":"strict","require":{"stale_writes_attempted":0}}',
        '{"time":0,"process":0,"type":"invoke","f":"write","resource":"r0","token":1,"value":"a"}',
        '{"time":1,"process":0,"type":"ok","f":"write","resource":"r0","token":1,"value":"a"}',
        '{"time":2,"process":1,"type":"invoke","f":"write","resource":"r0","token":2,"value":"b"}',
        '{"time":3,"process":2,"type":"invoke","f":"write","resource":"r0","token":2,"value":"c"}',
        '{"time":4,"process":2,"type":"fail","f":"write","resource":"r0","token":2,"value":"c","error":"stale"}',
        '{"time":5,"process":3,"type":"invoke","f":"read","resource":"r0"}',
        '{"time":6,"process":3,"type":"ok","f":"read","resource":"r0","value":"a","token":null}',
        '{"time":7,"process":1,"type":"ok","f":"write","resource":"r0","token":2,"value":"b"}',
    ]

    verdict = fencepost.judge(fencepost.parse(lines))

    (finding,) = verdict.findings
    assert finding.summary == (
        "either the storage wrongly refused 'c' with token 2 on r0,"
        " or what process 3 read afterwards with token 1 was stale"
    )
    assert finding.operations == (2, 3, 4, 5, 6, 7, 8, 9)
    assert "the lower token 1 was stale" in finding.steps[-1]
    assert verdict.as_expected is False
    assert verdict.reasons == ("found non-linearizable, which was not expected",)


def test_a_finding_is_explained_on_demand_only() -> None:
    path = HISTORIES / "stale-write/observed.jsonl"
    evidence = gather(fencepost.read(path))

    done = [finding for finding in explained(evidence, registers.OBSERVED) if "account" in vars(finding)]

    assert done == []


def test_a_finding_can_be_sent_to_another_process() -> None:
    (finding,) = judged("stale-write/observed").findings

    again = pickle.loads(pickle.dumps(finding))  # noqa: S301 - it is our own

    assert again == finding
    assert (again.summary, again.steps, again.operations) == (
        finding.summary,
        finding.steps,
        finding.operations,
    )


def test_a_proof_that_is_not_wrong_by_itself_stays_a_finding() -> None:
    path = HISTORIES / "stale-write/observed.jsonl"
    history = fencepost.read(path)
    conflicts = list(registers.observed(gather(history)))

    def sees_it_in_the_whole_run_only(evidence: Any) -> list[Conflict]:
        return conflicts if evidence.history.operations == history.operations else []

    checker = replace(registers.OBSERVED, check=sees_it_in_the_whole_run_only, compares_only=False)

    (finding,) = explained(gather(history), checker)

    assert finding.summary.startswith("process 0 wrote '0-1' with token 33 to r0")
    assert finding.operations == (7, 8, 10, 11)
    assert list(doubts_of([finding])) == [
        "stale-write on r0: the operations named here were not found to be wrong by themselves"
    ]


def test_an_unexplained_finding_stays_and_is_in_the_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    def speechless(_narrator: Any, _conflict: Any) -> NoReturn:
        raise ZeroDivisionError("no words")

    monkeypatch.setattr(shapes, "_KNOWN", {})  # they name the breaches that they were found with
    monkeypatch.setattr(
        by_clients, "SENT_AFTER_NEWER", Breach(anomaly="stale-write", rule="none", story=speechless)
    )

    verdict = fencepost.judge(fencepost.read(HISTORIES / "stale-write/observed.jsonl"))

    assert [finding.operations for finding in verdict.findings] == [(7, 8, 10, 11)]
    assert verdict.reasons == ("stale-write on r0: it could not be explained: ZeroDivisionError: no words",)


@pytest.mark.parametrize("name", BAD)
def test_every_finding_names_the_operation_that_is_wrong(name: str) -> None:
    history, order = read(name)

    verdict = fencepost.judge(history, order)

    for finding, document in zip(verdict.findings, verdict.to_document()["findings"], strict=True):
        sent = history.operations[finding.accused : finding.accused + 1]  # none: a write that no client sent
        assert document["accused"] == [line for op in sent for line in op.lines]
        assert set(document["accused"]) | set(document["against"]) <= set(document["operations"])
        assert not set(document["accused"]) & set(document["against"])
