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
from checkers.vocabulary.verdict import FindingCause
from tests.support.literal_histories import BAD, read
from tests.support.only_finding import only_finding
from tests.support.repository import HISTORIES


def test_a_stale_write_is_explained_with_the_pause_that_opened_the_window() -> None:
    finding = only_finding("stale-write/observed")

    grant, pause, newer_grant, *why, end = finding.proof
    assert finding.account.cause == FindingCause(
        certain=True, fault="pause", target="client:0", faults=(5, 9)
    )
    assert (grant.operations, newer_grant.operations) == ((2, 3), (4, 6))
    assert pause.faults == (5, 9)
    assert [step.operations for step in why] == [(7, 8, 10, 11)] * 3
    assert end.operations == ()
    assert finding.operations == (7, 8, 10, 11)


def test_the_storages_own_order_is_explained_if_it_decides() -> None:
    finding = only_finding("stale-write/committed-only")

    assert finding.steps[2].startswith("By the storage's own order, ")
    assert finding.proof[2].operations == finding.operations == (6, 7, 8, 9)


def test_a_read_that_shows_that_a_write_took_effect_belongs_to_the_proof() -> None:
    finding = only_finding("stale-write/seen-by-a-read")

    by_time, seen, by_token, _ = finding.proof
    assert by_time.operations == (3, 5, 8, 9)
    assert seen.operations == (2, 3, 4, 5, 8, 9)
    assert by_token.operations == (2, 3, 4, 5)


def test_an_unacknowledged_write_is_proved_by_its_first_read() -> None:
    finding = only_finding("stale-read/after-definite-info")

    assert finding.operations == (2, 3, 4, 5, 6, 7, 8, 9)
    assert finding.proof[0].operations == (4, 5, 6, 7)
    assert finding.steps[0].startswith("By the read, the write of 'b' came before the read at line 6: ")


def test_the_initial_value_is_explained_as_such() -> None:
    assert only_finding("stale-write/below-the-start").steps == (
        "The initial value, with token 40 (line 1), came before the write of '0-1'.",
        (
            "By token order, the write of '0-1' must come before the initial value: a"
            " fence that is at token 40 must refuse token 33, but it was accepted at 0.100 s"
            " (line 3)."
        ),
        ("So the storage accepted token 33 although its token was already 40."),
    )


def test_two_writes_that_overlap_cannot_both_use_a_token_of_a_strict_fence() -> None:
    first, second, end = only_finding("stale-write/strict-overlapping").steps

    assert first.startswith("By token order, the write of '0-1' must come before the write of '0-2':")
    assert second.startswith("By token order, the write of '0-2' must come before the write of '0-1':")
    assert "a strict fence that has accepted token 33 must refuse token 33" in first
    assert end.endswith("So the storage accepted token 33 twice.")


def test_an_operation_against_the_storage_s_own_order_is_explained() -> None:
    assert only_finding("stale-read/committed").summary == (
        "process 2 read '0-1' from r0 although '1-1', which the storage's own order puts after it,"
        " had been accepted before"
    )
    finding = only_finding("non-linearizable/against-the-log")
    assert finding.summary == (
        "process 0 wrote 'b' to r0 after 'a' had been accepted, and the storage's own order puts it before"
    )
    assert finding.account.story == (
        "Process 0 wrote 'a' to r0, which was accepted by 0.100 s.",
        "Process 0 sent 'b' only after that, at 0.200 s, but the storage's own order has it before 'a'.",
    )
    by_time, by_order, _ = finding.steps
    assert by_time.startswith("By real time, the write of 'a' came before the write of 'b': ")
    assert by_order.startswith("By the storage's own order, the write of 'b' came before the write of 'a': ")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "false-rejection/inclusive-own-token",
            ("But no write to r0 with such a token was ever accepted, or can have been.",),
        ),
        (
            "false-rejection/cause-too-late",
            (
                (
                    "But every write to r0 with such a token was sent only after that: the first, the write of"
                    " '1-1' with token 34, at 0.200 s (line 4)."
                ),
            ),
        ),
        (
            "false-rejection/after-a-failed-write",
            (
                (
                    "But every write to r0 that can have been accepted with such a token was sent only after"
                    " that: the first, the write of '0-2' with token 35, at 0.400 s (line 6)."
                ),
            ),
        ),
        (
            "false-rejection/decided-by-the-log",
            (
                (
                    "But every write to r0 with such a token was sent only after that, or cannot have been"
                    " accepted by then."
                ),
                (
                    "The write of 'b' was sent at 0.200 s (line 4), but in the storage's own order it comes"
                    " after the write of 'd', which was sent only at 0.600 s (line 7)."
                ),
            ),
        ),
    ],
)
def test_a_rejection_without_a_cause_is_explained_against_all_writes(name: str, why: tuple[str, ...]) -> None:
    finding = only_finding(name)

    assert finding.steps[2:-1] == why
    assert len(finding.operations) == 2
    assert not finding.account.doubt


def test_either_of_two_readings_is_explained_as_both() -> None:
    finding = only_finding("non-linearizable/false-or-stale")

    assert finding.summary.startswith("either the storage wrongly refused 'c' with token 5")
    assert finding.steps[0] == (
        "By the rejection, the write of 'b' came before the refused write of 'c': the storage refused"
        " token 5 as stale at 0.500 s (line 7), which is right only if a token of 5 or more had been accepted"
        " by then. None up to 6 can have been, as no write with such a token had been sent by then that can"
        " have been accepted: it was a higher one, such as 9, sent at 0.200 s (line 4)."
    )
    assert finding.steps[-1].endswith(
        "either the refusal was false, or the write of 'd' with the lower token 6 was stale."
    )
    assert finding.operations == (4, 5, 6, 7, 8, 9)


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
    finding = only_finding("stale-write/observed")

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


def test_an_unexplained_finding_stays_and_is_in_the_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
