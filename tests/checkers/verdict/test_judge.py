"""From findings to a verdict: what outranks what, and what was expected."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from typing import Any

import msgspec
import pytest

import fencepost
from checkers.explain.conflict import Checker
from checkers.history.records import Header, History, Op, Outcome
from checkers.verdict.judge import AS_SEEN, COMMITTED, OTHERS, judge
from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.counts import COVERAGE, NONE, OF_JOBS, WORK
from checkers.vocabulary.document import VerdictDocument
from checkers.vocabulary.reasons import NO_GRANT, NO_RETURN, NO_TOKEN
from checkers.vocabulary.verdict import Finding, Validity
from tests.support.brute_force import history_of, operation, read, renumbered, write
from tests.support.commit_logs import log
from tests.support.repository import HISTORIES, ROOT

REJECTED = renumbered([write(0, 2, 0, 1), write(1, 1, 2, 3, "stale")])
ACCEPTED = renumbered([write(0, 2, 0, 1), write(1, 1, 2, 3)])
QUIET = renumbered([write(0, 1, 0, 1), write(1, 2, 2, 3)])
LAGGING = renumbered([write(0, 1, 0, 1), write(1, 2, 2, 3), read(2, ("v0", 1), 4, 5)])


def run(operations: list[Op] | tuple[Op, ...], **header: Any) -> History:
    fenced = header.get("fenced", True)
    return replace(history_of(operations, fenced=fenced), header=Header(target="test", **header))


def test_a_challenged_fence_that_held_is_valid() -> None:
    verdict = judge(run(REJECTED))

    assert (verdict.validity, verdict.as_expected, verdict.reasons) == (Validity.VALID, True, ())


def test_a_fence_that_was_never_challenged_is_unknown() -> None:
    verdict = judge(run(QUIET))

    assert (verdict.validity, verdict.as_expected) == (Validity.UNKNOWN, False)
    assert verdict.reasons == ("not tested: no stale write was attempted: run longer, or with faults",)


def test_a_run_without_faults_is_not_advised_to_have_some() -> None:
    unanswered = (REJECTED[0], replace(REJECTED[1], outcome=Outcome.INFO, returned=None, error=None))

    for operations in (QUIET, unanswered):
        (reason,) = judge(run(operations, no_faults=True)).reasons
        assert reason.startswith("not tested: no stale write")
        assert reason.endswith(": it was run with --no-faults")


def test_a_stale_write_without_an_answer_shows_nothing_of_a_fence() -> None:
    newer, stale = REJECTED
    unknown = replace(stale, outcome=Outcome.INFO, returned=None, error=None)
    nothing = {"stale_writes_attempted": 0}

    verdict = judge(run((newer, unknown)))

    assert verdict.reasons == ("not tested: no stale write was attempted: run longer, or with faults",)
    assert judge(run((newer, unknown), require=nothing)).validity is Validity.VALID


def test_a_fence_without_tokens_could_not_be_challenged() -> None:
    def granted(token: int | None) -> tuple[Op, ...]:
        grant = Op(index=0, process=0, f="acquire", resource="r0", called=1, returned=2, outcome=Outcome.OK)
        return (replace(grant, owner="0-1", token=token),)

    assert judge(run(granted(None))).reasons == (NO_TOKEN,)
    assert judge(run(granted(None), require={"stale_writes_attempted": 0})).reasons == ()
    for run_of_another in (run(granted(None), fenced=False), run(granted(7))):
        (reason,) = judge(run_of_another).reasons
        assert reason.endswith("run longer, or with faults")


def test_a_target_may_require_nothing_or_more() -> None:
    assert judge(run(QUIET, require={"stale_writes_attempted": 0})).validity is Validity.VALID
    assert judge(run(QUIET, require={"stale_writes_attempted": 0})).validity is Validity.VALID
    verdict = judge(run(REJECTED, require={"stale_writes_attempted": 2, "pauses": 1}))
    assert verdict.reasons == (
        "not tested: stale_writes_attempted is 1, required 2: run longer, or with faults",
        "not tested: no pause was observed from beginning to end: run longer, or with faults",
    )


def test_a_violation_outranks_not_exercised() -> None:
    verdict = judge(run(LAGGING))

    assert (verdict.validity, verdict.as_expected) == (Validity.INVALID, False)
    assert verdict.reasons == (
        "found stale-read, which was not expected",
        "not tested: no stale write was attempted: run longer, or with faults",
    )


def test_an_expected_violation_that_was_found_is_as_expected() -> None:
    verdict = judge(run(ACCEPTED, fenced=False, expect=("stale-write",)))

    assert (verdict.validity, verdict.as_expected, verdict.reasons) == (Validity.INVALID, True, ())


def test_another_violation_than_the_expected_is_not_as_expected() -> None:
    verdict = judge(run(LAGGING, expect=("stale-write",)))

    assert not verdict.as_expected
    assert verdict.reasons[:-1] == (
        "found stale-read, which was not expected",
        "expected stale-write was not found",
    )


def test_anomalies_under_may_are_allowed() -> None:
    both = renumbered([*LAGGING[:2], write(2, 1, 4, 5), read(3, ("v0", 1), 6, 7)])

    strict = judge(run(both, expect=("stale-write",)))
    lenient = judge(run(both, expect=("stale-write",), may=("stale-read",)))

    assert (strict.as_expected, lenient.as_expected) == (False, True)


def test_a_run_that_must_be_valid_may_show_no_violation() -> None:
    verdict = judge(run(LAGGING, may=("stale-read",)))

    assert not verdict.as_expected
    assert verdict.reasons[:-1] == ("found stale-read, which was not expected",)


def test_an_expected_violation_that_was_not_found_is_not_as_expected() -> None:
    verdict = judge(run(REJECTED, expect=("stale-write",)))

    assert (verdict.validity, verdict.as_expected) == (Validity.VALID, False)
    assert verdict.reasons == ("expected stale-write was not found",)


def test_an_expected_violation_that_was_never_provoked_is_unknown() -> None:
    verdict = judge(run(QUIET, expect=("stale-write",)))

    assert (verdict.validity, verdict.as_expected) == (Validity.UNKNOWN, False)
    assert verdict.reasons == ("not tested: no stale write was attempted: run longer, or with faults",)


def test_a_checker_that_crashes_makes_the_verdict_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_evidence: Any) -> None:
        raise ZeroDivisionError("half a token")

    broken = Checker("broken", "observed", crash, ("stuck-lock",))
    monkeypatch.setattr(import_module("checkers.verdict.judge"), "OTHERS", (*OTHERS, broken))

    verdict = judge(run(REJECTED))
    worse = judge(run(ACCEPTED))

    assert verdict.validity is Validity.UNKNOWN
    assert not verdict.as_expected
    assert verdict.reasons == ("the checker broken crashed: ZeroDivisionError: half a token",)
    assert worse.validity is Validity.INVALID


def test_judging_nothing_is_unknown() -> None:
    for require in ({}, {"stale_writes_attempted": 0}):
        verdict = judge(run([], require=require))

        assert verdict.validity is Validity.UNKNOWN
        assert "the history has no operation: there is nothing to judge" in verdict.reasons


def test_a_log_without_fences_contradicts_no_stale_write_after_a_fence() -> None:
    fenced, stale = operation("fence", 0, 2, 3, token=3), operation("write", 1, 4, 5, token=2, value="v")
    history = run(renumbered([fenced, stale]), fenced=False, policy="inclusive", expect=("stale-write",))

    verdict = judge(history, log((2, "v")))

    assert (verdict.validity, verdict.as_expected) == (Validity.INVALID, True)


def test_the_document_has_every_field_and_every_name_that_was_looked_for() -> None:
    history = run(ACCEPTED, fenced=False, expect=("stale-write",))

    verdict = judge(history, log((2, "v0"), (1, "v1")))
    document = json.loads(json.dumps(verdict.to_document()))

    assert list(document) == [
        *("schema", "target", "history", "verdict", "expected", "as_expected"),
        *("reasons", "reason_kinds", "reason_arguments", "anomalies", "findings", "counted"),
        *("coverage", "hazards", "windows", "checkers", "notices", "interrupted"),
    ]
    assert (document["schema"], document["verdict"], document["expected"]) == (1, "invalid", ["stale-write"])
    looked_for = {name for each in (*COMMITTED, *AS_SEEN, *OTHERS) for name in each.decides}
    assert set(document["anomalies"]) == looked_for
    assert set(document["coverage"]) == set(COVERAGE) - set(OF_JOBS)
    assert document["anomalies"]["stale-write"] == len(document["findings"]) == 1
    assert {each["evidence"] for each in document["checkers"]} == {"committed", "observed"}
    assert any("storage's own order" in step for step in document["findings"][0]["steps"])
    assert msgspec.convert(document, VerdictDocument)


def test_if_no_client_got_the_lock_a_notice_says_what_they_heard() -> None:
    heard = "Expected `int`, got `str`"
    asked = Op(index=0, process=0, f="acquire", resource="r0", called=0, owner="a", error=heard)

    verdict = judge(run([asked]))
    with_a_grant = judge(run([asked, replace(asked, index=1, outcome=Outcome.OK, returned=1, token=1)]))

    (notice,) = verdict.notices
    assert notice.startswith("the lock was never granted: 1 of 1 acquires got no usable answer")
    assert notice.endswith(heard)
    assert verdict.reasons == (NO_GRANT,)
    assert with_a_grant.notices == ()


def test_a_run_in_which_no_acquire_returned_says_so() -> None:
    asked = Op(index=0, process=0, f="acquire", resource="r0", called=0, owner="a")

    assert judge(run([asked])).reasons == (NO_RETURN,)
    assert judge(run([operation("read", 1, 0, 1)])).reasons[0].endswith("run longer, or with faults")


def test_a_valid_document_expects_valid() -> None:
    document = judge(run(REJECTED)).to_document()

    assert (document["verdict"], document["expected"], document["findings"]) == ("valid", "valid", [])


def test_findings_come_by_name_and_time() -> None:
    operations = renumbered(
        [
            write(0, 3, 0, 1),
            read(1, (None, 0), 2, 3),
            write(2, 1, 4, 5),
            write(3, 2, 6, 7),
        ]
    )

    findings: tuple[Finding, ...] = judge(run(operations)).findings

    assert [(each.anomaly, each.accused) for each in findings] == [
        ("stale-write", 2),
        ("stale-write", 3),
        ("lost-write", 0),
    ]


def test_a_lost_update_that_is_only_counted_is_explained() -> None:
    verdict = judge(fencepost.read(HISTORIES / "late-write/lost-update-observed.jsonl"))

    assert verdict.findings == ()
    assert {finding.anomaly for finding in verdict.counted} == {"lost-update"}
    assert verdict.to_document()["counted"][0]["steps"]


def test_the_first_few_counted_findings_are_explained() -> None:
    grants = [
        operation("acquire", client, 2 * client, 2 * client + 1, owner=str(client), token=client)
        for client in range(30)
    ]

    verdict = judge(run(renumbered(grants), require={}))

    assert verdict.anomalies["double-grant"] > 10
    assert len(verdict.counted) == 10


def test_every_name_is_defined_in_one_sentence() -> None:
    for anomaly in ANOMALIES.values():
        assert anomaly.definition.endswith(".")
        assert anomaly.definition.count(". ") == 0


def test_every_anomaly_says_what_happened_why_it_matters_and_what_to_do() -> None:
    for anomaly in ANOMALIES.values():
        assert anomaly.happened(1) == anomaly.once
        assert "1,234" in anomaly.happened(1234)
        for sentence in (anomaly.matters, anomaly.arises, anomaly.remedy):
            assert sentence.endswith(".")
            assert sentence.count(". ") == 0
        assert set(anomaly.counters) <= {"found", *COVERAGE, *WORK}


def test_every_count_has_words_for_none() -> None:
    assert set(NONE) == set(COVERAGE)


def test_every_name_has_its_place_in_the_documentation() -> None:
    text = (ROOT / "docs" / "anomalies.md").read_text()
    headings = " ".join(line for line in text.splitlines() if line.startswith("### "))

    assert [name for name in ANOMALIES if name not in headings] == []
    assert [name for name in COVERAGE if f"`{name}`" not in text] == []
