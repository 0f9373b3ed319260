"""What was once counted or said wrongly of holds, hits and causes, each as a literal history."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest

from checkers.history.records import Commit
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Verdict
from tests.support.commit_logs import log
from tests.support.events import recorded, struck

Line = dict[str, Any]


def call(process: int, f: str, called: int, returned: int, **fields: Any) -> list[Line]:
    """An operation that ended ok, or as `type` says."""
    asked = {"process": process, "f": f, "resource": "r0"}
    asked |= {name: each for name, each in fields.items() if name in {"owner", "value"}}
    asked |= {"token": fields["token"]} if f == "write" else {}
    answer = {"time": returned, "type": "ok"} | asked | fields
    return [{"time": called, "type": "invoke"} | asked, answer]


def judged(*events: Sequence[Line], commits: Sequence[Commit] | None = None, **header: Any) -> Verdict:
    head = {"ttl": 100, "require": {"stale_writes_attempted": 0}} | header
    return judge(recorded(*chain.from_iterable(events), **head), commits)


def steps(verdict: Verdict) -> str:
    return " ".join(step for finding in verdict.findings for step in finding.steps)


FIRST = call(0, "acquire", 10, 12, owner="0-1", token=1, ttl=100)


def next_of_its_own(began: int) -> list[list[Line]]:
    """The same client gives the lock back, and takes it and writes again."""
    return [
        call(0, "release", began, began + 5, owner="0-1"),
        call(0, "acquire", began + 6, began + 10, owner="0-2", token=2, ttl=100),
        call(0, "write", began + 11, began + 15, token=2, value="a"),
    ]


def test_a_clients_own_next_hold_is_no_grant_to_another() -> None:
    verdict = judged(FIRST, struck("pause", "client:0", 20, 200), *next_of_its_own(150), clients=2)

    assert verdict.coverage["grants_to_others"] == 0


@pytest.mark.parametrize(("kind", "began"), [("pause", 150), ("delay", 30)])
def test_a_clients_own_next_hold_is_no_hazard(kind: str, began: int) -> None:
    verdict = judged(FIRST, struck(kind, "client:0", 20, 200), *next_of_its_own(began), clients=2)

    hit = [] if verdict.hazards is None else list(verdict.hazards.hit)
    assert not [name for name in hit if "superseded" in name or "regranted" in name]


def test_what_was_hit_is_listed_from_the_grant_to_the_release() -> None:
    paused = struck("pause", "client:0", 20, 30), struck("pause", "client:0", 60, 70)

    verdict = judged(FIRST, *paused, call(0, "write", 40, 50, token=1, value="a"), clients=2)

    assert verdict.hazards is not None
    assert list(verdict.hazards.hit) == [
        "before-write/before-expiry/holder",
        "before-release/before-expiry/holder",
    ]


def test_a_grant_counts_only_in_a_pause_that_outlived_the_lease() -> None:
    other = call(1, "acquire", 25, 28, owner="1-1", token=2, ttl=100)

    assert (
        judged(FIRST, struck("pause", "client:0", 20, 30), other, clients=2).coverage["grants_to_others"] == 0
    )


LET_IN = [
    call(0, "acquire", 0, 1, owner="0-1", token=1, ttl=10, attempt=0),
    call(1, "acquire", 20, 21, owner="1-1", token=2, ttl=100, attempt=20),
    call(2, "acquire", 50, 51, owner="2-1", token=3, ttl=100, attempt=50),
]


@pytest.mark.parametrize("late", [[("renew", 30, 10)], [("renew", 30, 100), ("release", 35, None)]])
def test_a_late_release_or_renewal_is_never_denied(late: list[tuple[str, int, int | None]]) -> None:
    came = [
        call(3, f, at, at + 1, owner="0-1", **({} if ttl is None else {"ttl": ttl})) for f, at, ttl in late
    ]

    assert "No late release or renewal" not in steps(judged(*LET_IN, *came, clients=3))


@pytest.mark.parametrize(
    ("left_behind", "cause"),
    [([2], "failover"), ([1], "failover"), ([1, 2], None), ([0], None)],
    ids=["the later", "the earlier", "both", "neither"],
)
def test_a_release_at_one_primary_frees_no_lock_at_the_other(
    left_behind: list[int], cause: str | None
) -> None:
    failover = struck("failover", "lock", 5, 900)
    failover[0]["value"]["left_behind"] = left_behind
    late_release = call(3, "release", 30, 31, owner="0-1")

    verdict = judged(LET_IN[0], failover, *LET_IN[1:], late_release, clients=3)

    (finding,) = (each for each in verdict.findings if each.anomaly == "early-grant")
    assert finding.account.cause is not None
    assert finding.account.cause.fault == (cause or "")
    assert ("of another hold" in steps(verdict)) == (cause is None)


def test_a_release_is_attributed_to_the_process_that_sent_it() -> None:
    verdict = judged(
        call(0, "acquire", 0, 1, owner="A", token=1, ttl=100, attempt=0),
        call(0, "write", 2, 9, token=1, value="a", type="info"),
        call(1, "acquire", 20, 21, owner="B", token=2, ttl=100, attempt=20),
        call(7, "release", 40, 41, owner="A"),
    )

    assert "Process 0 started to release" not in steps(verdict)


def test_an_excuse_of_a_false_rejection_came_after_it() -> None:
    verdict = judged(
        call(0, "write", 0, 1, token=1, value="v1"),
        call(0, "write", 10, 20, token=3, value="v2"),
        call(1, "write", 30, 40, token=3, value="v4", type="fail", error="stale"),
        commits=log((1, "v1"), (2, "v2")),
    )

    assert "after the write of 'v1', which was sent only" not in steps(verdict)
