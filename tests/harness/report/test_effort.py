"""How hard a run tried, in one sentence: it claims no more than the counts say."""

from __future__ import annotations

import pytest

from harness.nemesis.faults import FAULTS
from harness.report.effort import effort, moments
from tests.support.verdicts import verdict_of

NONE_STALE = {"stale_writes_attempted": 0, "stale_writes_rejected": 0, "stale_writes_accepted": 0}


def said(hit: dict[str, int] | None = None, **counts: int) -> str:
    return effort(verdict_of({"coverage": counts, "hazards": None if hit is None else {"hit": hit}}))


def test_a_pause_until_another_client_wrote_says_so() -> None:
    hit = {"before-write/superseded/holder": 4, "granted/superseded/holder": 5, "renewing/expired/holder": 2}

    assert said(hit, pauses=11, grants_to_others=12, pauses_past_lease=11) == (
        "11 pauses; 9 times, another client took over and wrote meanwhile"
    )


@pytest.mark.parametrize("whom", ["waiter", "lock", "storage/delayed"])
def test_only_a_holder_that_was_hit_is_taken_over(whom: str) -> None:
    assert said({f"write-sent/superseded/{whom}": 3}, pauses=3) == "3 pauses"


def test_a_takeover_without_a_write_claims_none() -> None:
    assert said({"before-write/regranted/holder": 1}, pauses=1, grants_to_others=1) == (
        "1 pause; once, another client got the lock meanwhile"
    )


def test_a_pause_past_a_lease_that_nobody_took_says_only_that() -> None:
    assert said(pauses=3, pauses_past_lease=1) == "3 pauses; 1 pause outlived the holder's lease"


@pytest.mark.parametrize("kind", sorted(kind for kind, spec in FAULTS.items() if spec.words.count))
def test_every_kind_of_fault_is_named_in_singular_and_plural(kind: str) -> None:
    spec = FAULTS[kind]

    assert said(**{spec.words.count or "": 1}) == f"1 {spec.called}"
    assert said(**{spec.words.count or "": 1_200}) == f"1,200 {spec.called}s"


def test_several_kinds_of_faults_are_listed() -> None:
    assert said(pauses=2, partitions=0, kills=1, clock_jumps=3) == "2 pauses, 1 kill and 3 clock jumps"


def test_a_kind_of_fault_that_only_the_history_knows_is_counted() -> None:
    assert said(grants=4, disk_stalls=1) == "disk stalls ×1"


def test_a_run_without_a_counted_fault_says_how_often_the_lock_was_granted() -> None:
    assert said(grants=75) == "no fault counted; the lock was granted 75 times"
    assert said(grants=0) == "no fault counted"


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
def test_the_outcomes_of_stale_writes_add_up(
    attempted: int, rejected: int, accepted: int, words: str
) -> None:
    counts = {"attempted": attempted, "rejected": rejected, "accepted": accepted}

    assert said(pauses=9, **{f"stale_writes_{name}": number for name, number in counts.items()}) == (
        f"9 pauses; {words}"
    )


def test_late_writes_are_counted_where_none_was_stale() -> None:
    assert said(pauses=6, late_writes_attempted=6, **NONE_STALE) == (
        "6 pauses; no stale write attempted, 6 late writes"
    )
    assert said(pauses=6, **NONE_STALE) == "6 pauses; no stale write attempted"


def test_moments_count_those_that_no_fault_tried() -> None:
    hazards = {"hit": {}, "missed": ["renewing/expired/holder"], "possible": 3, "untried": 21}

    assert moments(verdict_of({"hazards": hazards})) == "2 of 24 dangerous moments tried"


def test_a_target_that_can_hit_no_moment_counts_none() -> None:
    assert moments(verdict_of({})) == ""
    assert moments(verdict_of({"hazards": {"hit": {"before-write/superseded/holder": 1}}})) == ""
