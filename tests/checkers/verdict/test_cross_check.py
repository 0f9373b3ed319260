"""What clients saw and what the storage's own order says: each event once, and nothing hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.history.records import Commit, FaultEvent, Header, Op
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding, Verdict
from tests.support.brute_force import fenced as fence
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.events import call, recorded
from tests.support.lock_requests import fault

NOTHING_REQUIRED = {"stale_writes_attempted": 0}


def commits(*pairs: tuple[int | None, str], resource: str = "r0") -> list[Commit]:
    return [
        Commit(seq=seq, resource=resource, token=token, value=value)
        for seq, (token, value) in enumerate(pairs, start=1)
    ]


def judged(
    operations: Sequence[Op], log: list[Commit] | None, faults: Sequence[FaultEvent] = (), **header: Any
) -> Verdict:
    header = {"require": NOTHING_REQUIRED} | header
    history = replace(
        history_of(renumbered(operations)), header=Header(target="t", **header), faults=tuple(faults)
    )
    return judge(history, log)


def reported(verdict: Verdict) -> list[tuple[str, int]]:
    return [(finding.anomaly, finding.accused) for finding in verdict.findings]


A, B, C = write(0, 1, 0, 1), write(1, 2, 2, 3), write(2, 3, 4, 5)


def test_a_violation_in_both_kinds_of_evidence_is_reported_once() -> None:
    late = write(2, 1, 4, 5)

    verdict = judged([A, B, late], commits((1, "v0"), (2, "v1"), (1, "v2")))

    assert reported(verdict) == [("stale-write", 2)]
    assert verdict.reasons == ("found stale-write, which was not expected",)


def test_a_read_of_what_the_log_calls_stale_is_not_reported_again() -> None:
    overlapping = write(0, 1, 0, 9)

    verdict = judged(
        [overlapping, write(1, 2, 2, 3), read(2, ("v0", 1), 10, 11)], commits((2, "v1"), (1, "v0"))
    )

    assert reported(verdict) == [("stale-write", 0)]


def test_a_read_of_an_older_value_shows_no_stale_write_beside_a_loss() -> None:
    operations = [write(0, 1, 0, 9), write(1, 2, 2, 3), read(2, ("v0", 1), 10, 11)]

    verdict = judged(operations, commits((1, "v0")), fault("storage", 4, 6, "kill"))

    assert reported(verdict) == [("lost-write", 1)]


def test_a_log_against_real_time_is_non_linearizable_and_says_so() -> None:
    late = write(2, 1, 4, 5)

    verdict = judged([A, B, late], commits((1, "v0"), (1, "v2"), (2, "v1")), policy="inclusive")

    assert reported(verdict) == [("non-linearizable", 2)]
    assert "the storage's own order puts it before" in verdict.findings[0].summary
    assert verdict.reasons == ("found non-linearizable, which was not expected",)


def test_a_log_against_real_time_is_never_the_expected_stale_write() -> None:
    late = write(2, 1, 4, 5)

    verdict = judged(
        [A, B, late], commits((1, "v0"), (1, "v2"), (2, "v1")), policy="inclusive", expect=("stale-write",)
    )

    assert not verdict.as_expected


def test_an_expected_name_does_not_hide_another_of_the_same_operation() -> None:
    ghost = replace(write(2, 1, 4, 5, "stale"), error="refused")
    log = commits((1, "v0"), (2, "v1"), (1, "v2"))

    strict = judged([A, B, ghost], log, expect=("stale-write",))
    lenient = judged([A, B, ghost], log, expect=("stale-write",), may=("ghost-write",))

    assert reported(strict) == [("stale-write", 2)]
    assert strict.findings[0].also == ("ghost-write",)
    assert (strict.as_expected, lenient.as_expected) == (False, True)
    assert strict.reasons == ("found ghost-write, which was not expected",)
    assert strict.to_document()["findings"][0]["also"] == ["ghost-write"]


def test_an_expected_name_may_be_the_second_of_an_operation() -> None:
    ghost = replace(write(2, 1, 4, 5, "stale"), error="refused")

    verdict = judged(
        [A, B, ghost], commits((1, "v0"), (2, "v1"), (1, "v2")), expect=("stale-write", "ghost-write")
    )

    assert verdict.as_expected


def test_a_finding_after_a_write_lost_by_the_log_names_it() -> None:
    again = write(2, 2, 6, 7)

    verdict = judged([A, B, again], commits((1, "v0"), (2, "v2")), fault("storage", 4, 5, "failover"))

    stale, lost = verdict.findings
    assert reported(verdict) == [("stale-write", 2), ("lost-write", 1)]
    assert stale.caused_by == lost
    document = verdict.to_document()["findings"][0]
    assert document["caused_by"] == {
        "anomaly": "lost-write",
        "summary": lost.summary,
        "operations": list(lost.operations),
    }


def test_nothing_follows_from_a_write_that_was_never_stored() -> None:
    again = write(2, 2, 6, 7)

    verdict = judged([A, B, again], commits((1, "v0"), (2, "v2")))

    assert reported(verdict) == [("phantom-accept", 1)]


def test_a_phantom_that_was_read_is_a_finding() -> None:
    verdict = judged([A, B, read(2, ("v1", 2), 4, 5)], commits((1, "v0")))

    assert reported(verdict) == [("lost-write", 1)]


def test_a_log_that_matches_nothing_belongs_to_another_run() -> None:
    with pytest.raises(HistoryError, match="another run"):
        judged([A, B], commits((1, "x"), (2, "y")))
    with pytest.raises(HistoryError, match="no other commit fits"):
        judged([A, B], commits((7, "v0")))


def test_an_empty_log_says_that_nothing_was_stored() -> None:
    assert reported(judged([A], [])) == [("phantom-accept", 0)]


def test_writes_of_other_programs_explain_refusals_and_reads() -> None:
    refused = write(1, 2, 2, 3, "stale")

    verdict = judged([A, refused, read(2, ("x", 5), 4, 5)], commits((1, "v0"), (5, "x")))

    assert [finding.anomaly for finding in verdict.findings] == ["non-linearizable"]
    assert "no client" in verdict.findings[0].summary


def test_many_commits_of_other_programs_are_many_findings() -> None:
    verdict = judged([A], commits((1, "v0"), (2, "x"), (3, "y")))

    assert verdict.anomalies["non-linearizable"] == 2


def test_foreign_commits_on_two_resources_are_two_findings() -> None:
    log = [*commits((1, "v0")), *commits((2, "x"), resource="r1"), *commits((3, "y"), resource="r2")]

    verdict = judged([A], log)

    assert [finding.resource for finding in verdict.findings] == ["r1", "r2"]
    assert "'x'" in verdict.findings[0].summary
    assert "'y'" in verdict.findings[1].summary
    assert not [
        reason for reason in verdict.reasons if "explained" in reason or "wrong by themselves" in reason
    ]


def test_a_notice_names_the_fences_that_clients_cannot_decide() -> None:
    fenced = fence(write(1, 2, 2, 3))

    alone = judged([A, fenced], None)
    logged = judged([A, fenced], commits((1, "v0")))

    decided = judged([A, fenced], [*commits((1, "v0")), Commit(seq=2, resource="r0", token=2, fence=True)])

    assert "would decide" in alone.notices[0]
    assert "was not decided" in logged.notices[0]
    assert decided.notices == ()
    assert alone.validity is logged.validity
    assert alone.as_expected
    assert judged([A], None).notices == ()


def test_a_write_without_a_token_takes_no_part_in_the_order_of_tokens() -> None:
    bare = replace(write(2, 9, 4, 5), token=None)
    rest = [write(3, 3, 6, 7), write(4, 2, 8, 9, "stale"), read(5, ("v3", 3), 10, 11)]

    fenced = judged([A, B, bare, *rest], None)
    unfenced = judged([A, B, bare, *rest], None, fenced=False)
    logged = judged([A, B, bare, *rest], commits((1, "v0"), (2, "v1"), (None, "v2"), (3, "v3")))

    assert reported(fenced) == reported(logged) == [("unfenced-write", 2)]
    assert reported(unfenced) == []


def test_an_early_grant_does_not_hide_that_the_lock_was_stuck_before() -> None:
    history = recorded(
        *call(0, "acquire", 2, 22, {"type": "fail", "error": "not free in time"}, owner="a"),
        *call(1, "acquire", 5, 45, {"token": 1, "ttl": 4, "attempt": 45}, owner="b"),
        *call(0, "acquire", 23, 48, {"token": 2, "ttl": 4, "attempt": 48}, owner="c"),
        ttl=4,
        grace=10,
        clients=2,
    )

    (finding,) = judge(history).findings

    assert (finding.anomaly, finding.also) == ("early-grant", ("stuck-lock",))


def stale_write(*done: tuple[str, int, int]) -> Finding:
    """The only stale write of a run in which clients do this, one after another: a call, who, the token."""
    events = []
    for number, (f, client, token) in enumerate(done):
        fields = {"owner": f"{client}-1"} if f == "acquire" else {"token": token, "value": f"v{number}"}
        events += call(client, f, 10 * number + 1, 10 * number + 5, {"token": token}, **fields)
    verdict = judge(recorded(*events, fenced=False, policy="strict", clients=10))
    (found,) = (each for each in verdict.findings if each.anomaly == "stale-write")
    return found


def test_a_token_below_that_of_an_earlier_grant_let_its_write_through() -> None:
    found = stale_write(("acquire", 0, 5), ("acquire", 1, 4), ("write", 0, 5), ("write", 1, 4))

    assert found.caused_by is not None
    assert found.caused_by.anomaly == "token-regression"


def test_a_write_after_one_of_a_later_grant_is_late_whatever_its_token() -> None:
    found = stale_write(
        ("acquire", 0, 5), ("acquire", 1, 4), ("acquire", 2, 6), ("write", 2, 6), ("write", 1, 4)
    )

    assert found.caused_by is None


def test_a_second_write_of_one_hold_has_nothing_to_do_with_its_token() -> None:
    found = stale_write(("acquire", 0, 3), ("acquire", 1, 3), ("write", 1, 3), ("write", 1, 3))

    assert found.caused_by is None
