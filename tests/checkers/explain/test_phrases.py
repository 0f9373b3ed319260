"""What findings say is true of this very run: its storage, faults and moments, with as many digits as needed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.explain.clock import Clock
from checkers.models.budget import Budget
from checkers.models.judge import judge_foreign
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding, Validity
from tests.support.events import call, recorded
from tests.support.repository import HISTORIES


def finding_of(lines: list[dict[str, Any]], **header: Any) -> Finding:
    return judge(recorded(*lines, **({"require": {"stale_writes_attempted": 0}} | header))).findings[0]


@pytest.mark.parametrize(
    ("unit", "says"),
    [
        (1, "at 20 ns (line 3), and process 1 sent its write only later, at 30 ns (line 4)"),
        (1_000, "at 20.000 µs (line 3), and process 1 sent its write only later, at 30.000 µs (line 4)"),
        (1_000_000, "at 20.000 ms (line 3), and process 1 sent its write only later, at 30.000 ms (line 4)"),
        (
            1_000_000_000,
            "at 20.000 s (line 3), and process 1 sent its write only later, at 30.000 s (line 4)",
        ),
    ],
)
def test_times_are_explained_in_a_unit_that_tells_them_apart(unit: int, says: str) -> None:
    finding = finding_of(
        [
            *call(0, "write", 0, 20 * unit, token=34, value="a"),
            *call(1, "write", 30 * unit, 40 * unit, token=33, value="b"),
        ]
    )

    assert says in finding.steps[0]


def test_a_lease_of_seconds_is_explained_in_seconds_in_a_short_run() -> None:
    finding = finding_of(
        [
            *call(0, "acquire", 0, 10, {"token": 1, "ttl": 2_000_000_000, "attempt": 0}, owner="a"),
            *call(1, "acquire", 20, 30, {"token": 2, "ttl": 2_000_000_000, "attempt": 20}, owner="b"),
        ]
    )

    assert finding.summary == (
        "process 1 was granted the lock on r0 at 30 ns, while the lease of process 0 was promised until"
        " 2.000 s"
    )


def test_an_early_grant_just_before_a_release_shows_which_came_first() -> None:
    finding = finding_of(
        [
            *call(0, "acquire", 0, 1_000_000, {"token": 1}, owner="a", ttl=2_000_000_000),
            *call(1, "acquire", 2_000_000, 1_173_105_000, {"token": 2}, owner="b", ttl=2_000_000_000),
            *call(0, "release", 1_173_391_000, 1_180_000_000, owner="a", token=1),
        ]
    )

    assert finding.summary == (
        "process 1 was granted the lock on r0 at 1.173105 s,"
        " while process 0 held it until its release at 1.173391 s"
    )


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(steps=0, steps_per_operation=0), "there are too many possible cases ({})"),
        (Budget(bytes=0), "the possible cases ({}) need too much memory"),
    ],
    ids=["steps", "bytes"],
)
def test_a_search_that_gave_up_says_at_which_answer_and_what_to_do(budget: Budget, why: str) -> None:
    verdict = judge_foreign(HISTORIES / "foreign" / "kv.valid.txt", "kv", budget).verdict

    cases = "what the object may hold, and which of the operations in progress have happened"
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reasons[0] == (
        f"the search gave up on x: {why.format(cases)}, and so far none of them explains the answer to"
        " process 0 at line 3; it costs less to judge a history with fewer operations in progress at the"
        " same time, or without an answer"
    )


def test_a_model_without_tokens_says_that_it_ignores_them() -> None:
    path = HISTORIES / "stale-write/with-its-reads.jsonl"

    (notice,) = judge_foreign(path, "register").notices

    assert notice == (
        f"{path}: a register has no tokens, so those of this history are ignored; without --model"
        " they are judged"
    )


RUN = Clock(started=1_000, ended=1_000 + 20_000_000_000)


def test_moments_that_would_read_the_same_get_more_digits() -> None:
    clock = RUN.telling_apart([2_173_105_000, 2_173_391_000, 3_000_000_000])

    assert clock.moment(2_173_105_000) == "2.173104 s"
    assert clock.moment(2_173_391_000) == "2.173390 s"
    assert clock.moment(3_000_000_000) == "3.000 s"
    assert clock.duration(2_173_105_000) == "2.173 s"


def test_one_moment_that_is_named_twice_stays_short() -> None:
    clock = RUN.telling_apart([2_173_105_000, 2_173_105_000.0])

    assert clock == RUN


@pytest.mark.parametrize("lasted", [1, 10**3, 10**6, 10**10])
@given(moments=st.sets(st.integers(0, 10**10), max_size=6), near=st.sets(st.integers(0, 2_000), max_size=6))
def test_moments_that_differ_never_read_the_same(lasted: int, moments: set[int], near: set[int]) -> None:
    clock = Clock(started=0, ended=lasted).telling_apart(moments | near)

    assert len({clock.moment(each) for each in moments | near}) == len(moments | near)
