"""What counts as a challenge to the fence, and what does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.facts.evidence import gather
from checkers.verdict.coverage import coverage
from tests.support.commit_logs import log
from tests.support.events import recorded

SECOND = 1_000_000_000


class Run:
    """A history in the making; times are in seconds."""

    def __init__(self, **header: object) -> None:
        self._header = header
        self._events: list[tuple[float, int, dict[str, object]]] = []

    def op(
        self, process: int, f: str, called: float, returned: float, kind: str = "ok", **fields: Any
    ) -> Run:
        asked = {k: v for k, v in fields.items() if k == "owner" or f in {"write", "fence"}}
        asked["resource"] = fields.setdefault("resource", "r0")
        self._add(called, 0, process=process, type="invoke", f=f, **asked)
        answer = {"type": "fail", "error": "stale"} if kind == "stale" else {"type": kind}
        self._add(returned, 1, process=process, f=f, **fields, **answer)
        return self

    def fault(self, kind: str, target: str, began: float, healed: float | None, **hold: str) -> Run:
        for time, state in ((began, "in force"), (healed, "healed")):
            if time is not None:
                value = {"target": target, "state": state, **hold}
                self._add(time, 0, process="nemesis", type="info", f=kind, value=value)
        return self

    def _add(self, time: float, rank: int, **event: object) -> None:
        self._events.append((time, rank, {"time": int(time * SECOND), **event}))

    def counts(self, commits: Sequence[tuple[str, int | None]] = ()) -> dict[str, int]:
        events = [event for _, _, event in sorted(self._events, key=lambda each: each[:2])]
        entries = log(*((token, value) for value, token in commits))
        return coverage(gather(recorded(*events, **self._header), entries or None))

    def stale(self, commits: Sequence[tuple[str, int | None]] = ()) -> tuple[int, int, int]:
        counts = self.counts(commits)
        return (
            counts["stale_writes_attempted"],
            counts["stale_writes_rejected"],
            counts["stale_writes_accepted"],
        )


def held(run: Run, **grant: object) -> Run:
    """Process 0 holds the lock from 0.1 s on, process 1 gets it at 5 s."""
    own = {"ttl": 2 * SECOND, **grant}
    run.op(0, "acquire", 0, 0.1, owner="0-1", token=33, **own)
    return run.op(1, "acquire", 0, 5, owner="1-1", token=34, ttl=2 * SECOND, attempt=int(4.9 * SECOND))


def without_tokens(kind: str) -> Run:
    """Process 0 is answered like this when it writes after process 1, which got the lock later."""
    run = Run(fenced=False)
    for client in (0, 1):
        run.op(client, "acquire", client, client + 0.5, owner=f"{client}", token=None)
    return run.op(1, "write", 2, 3, owner="1", value="b").op(0, "write", 4, 5, kind, owner="0", value="a")


def test_a_write_below_an_accepted_one_is_an_attempt_if_it_was_answered() -> None:
    for kind, expected in (("stale", (1, 1, 0)), ("ok", (1, 0, 1)), ("info", (0, 0, 0))):
        run = Run()
        run.op(1, "write", 1, 2, token=34, value="b")
        run.op(0, "write", 3, 4, kind, token=33, value="a")

        assert run.stale() == expected
        log = [("b", 34), ("a", 33)] if kind == "ok" else [("b", 34)]
        assert run.stale(log) == expected


def test_a_write_that_failed_otherwise_challenged_no_fence() -> None:
    run = Run()
    run.op(1, "write", 1, 2, token=34, value="b")
    run.op(0, "write", 3, 4, "fail", token=33, value="a")

    assert run.stale() == run.stale([("b", 34)]) == (0, 0, 0)
    assert run.stale([("b", 34), ("a", 33)]) == (1, 0, 1)  # it took effect all the same


@pytest.mark.parametrize(
    ("kind", "is_read", "expected"),
    [
        ("ok", False, (1, 0, 1)),
        ("stale", False, (1, 1, 0)),
        ("fail", False, (0, 0, 0)),
        ("info", False, (0, 0, 0)),
        ("stale", True, (1, 0, 1)),
        ("fail", True, (1, 0, 1)),
        ("info", True, (1, 0, 1)),
    ],
)
def test_without_tokens_an_attempt_was_answered_or_took_effect(
    kind: str, *, is_read: bool, expected: tuple[int, ...]
) -> None:
    run = without_tokens(kind)
    if is_read:
        run.op(2, "read", 6, 7, value="a", token=None)

    assert run.stale() == expected


def test_without_tokens_a_write_after_a_later_grant_is_late() -> None:
    assert without_tokens("ok").counts()["late_writes_attempted"] == 1


def test_without_tokens_a_write_that_was_lost_is_an_attempt() -> None:
    assert without_tokens("ok").stale([("b", None)]) == (1, 0, 0)


def test_a_concurrent_write_is_an_attempt_only_if_refused_or_later() -> None:
    def overlapping(kind: str) -> Run:
        run = Run()
        run.op(1, "write", 1, 4, token=34, value="b")
        return run.op(0, "write", 2, 3, kind, token=33, value="a")

    assert overlapping("stale").stale() == (1, 1, 0)
    assert overlapping("ok").stale() == (0, 0, 0)
    assert overlapping("ok").stale([("a", 33), ("b", 34)]) == (0, 0, 0)
    assert overlapping("ok").stale([("b", 34), ("a", 33)]) == (1, 0, 1)
    assert overlapping("info").stale([("b", 34), ("a", 33)]) == (1, 0, 1)
    assert overlapping("info").stale([("b", 34)]) == (0, 0, 0)


def test_tokens_that_no_float_can_tell_apart_are_compared_exactly() -> None:
    older, newer = 2**60, 2**60 + 1
    run = Run()
    run.op(1, "write", 1, 4, token=newer, value="b")
    run.op(0, "write", 2, 3, token=older, value="a")

    assert run.stale([("b", newer), ("a", older)]) == (1, 0, 1)


def test_refusing_the_holders_second_write_challenges_no_strict_fence() -> None:
    run = Run()
    run.op(0, "write", 1, 2, token=33, value="a")
    run.op(0, "write", 3, 4, "stale", token=33, value="b")

    assert run.stale() == (0, 0, 0)


def test_a_rejection_before_any_newer_write_was_called_is_no_attempt() -> None:
    run = Run()
    run.op(0, "write", 1, 2, "stale", token=33, value="a")
    run.op(1, "write", 3, 4, token=34, value="b")

    assert run.stale() == (0, 0, 0)


def test_a_newer_token_only_granted_makes_a_write_late_not_stale() -> None:
    run = held(Run())
    run.op(0, "write", 6, 7, token=33, value="a")
    run.op(1, "write", 6.5, 8, token=34, value="b")

    assert run.stale() == (0, 0, 0)
    assert run.counts()["late_writes_attempted"] == 1
    assert run.counts()["grants"] == 2


def test_an_unfenced_stale_write_that_only_a_read_shows_is_an_attempt() -> None:
    run = Run(fenced=False)
    run.op(0, "write", 1, 2, "info", token=33, value="a")
    run.op(1, "write", 1.5, 3, token=34, value="b")
    run.op(2, "read", 4, 5, token=33, value="a")

    assert run.stale() == (1, 0, 1)


def test_a_fault_counts_once_it_was_seen_in_force_and_healed() -> None:
    run = Run().op(0, "acquire", 0, 0.5, owner="0-1", token=33, ttl=9 * SECOND)
    run.fault("pause", "client:0", 1, 2).fault("pause", "client:0", 3, None)
    run.fault("partition", "client:0-lock", 1, 2).fault("kill", "lock", 4, 5).fault("kill", "lock", 6, 7)
    run.fault("failover", "lock", 1, 2).fault("failover", "lock", 8, None).fault(
        "clock", "lock:redis-3", 1, 2
    )

    counts = run.counts()

    assert (counts["pauses"], counts["partitions"], counts["kills"]) == (1, 1, 2)
    assert (counts["failovers"], counts["clock_jumps"]) == (1, 1)


@pytest.mark.parametrize(("kind", "healed", "grants"), [("pause", 6, 1), ("kill", None, 0)])
def test_no_grant_is_counted_under_a_kill_which_has_no_end(
    kind: str, healed: float | None, grants: int
) -> None:
    counts = held(Run(clients=2)).fault(kind, "client:0", 1, healed).counts()

    assert (counts[f"{kind}s"], counts["grants_to_others"]) == (1, grants)


def test_a_pause_is_measured_against_the_lease_at_its_beginning() -> None:
    def past(healed: float, *renews: tuple[float, float], began: float = 1.0) -> int:
        run = held(Run())
        for nth, (called, returned) in enumerate(renews):
            run.op(10 + nth, "renew", called, returned, owner="0-1", ttl=2 * SECOND)
        run.fault("pause", "client:0", began, healed, owner="0-1", resource="r0")
        return run.counts()["pauses_past_lease"]

    assert past(2.0) == 0  # promised from the call at 0 s until 2 s
    assert past(2.1) == 1
    assert past(2.1, (0.5, 0.6)) == 0
    assert past(2.6, (0.5, 0.6)) == 1
    assert past(3.0, (1.0, 1.1)) == 0  # sent as the pause began
    assert past(2.1, (1.5, 1.6)) == 0  # answered by then
    assert past(2.1, (1.5, 2.2)) == 1
    assert past(2.6, (0.5, 4.0)) == 1  # sent before, answered after: until 2.5 s


def test_a_second_write_of_the_same_token_is_no_challenge() -> None:
    run = Run()
    for process, (value, token) in enumerate([("a", 1), ("b", 1), ("c", 2)]):
        run.op(process, "write", 2 * process + 1, 2 * process + 2, value=value, token=token)

    assert run.stale() == (0, 0, 0)
    assert run.stale([("a", 1), ("b", 1), ("c", 2)]) == (0, 0, 0)


def test_every_stale_write_is_counted() -> None:
    run = Run()
    run.op(1, "write", 1, 2, token=34, value="b")
    run.op(0, "write", 3, 4, "stale", token=33, value="a")
    run.op(0, "write", 5, 6, "stale", token=33, value="c")
    run.op(0, "write", 7, 8, token=32, value="d")

    assert run.stale() == (3, 2, 1)


@pytest.mark.parametrize(("later", "expected"), [(0.0, (1, 1, 0)), (2**-29, (0, 0, 0))])
def test_no_write_called_after_a_rejection_returned_is_its_cause(
    later: float, expected: tuple[int, ...]
) -> None:
    run = Run()
    run.op(0, "write", 1, 2, "stale", token=33, value="a")
    run.op(1, "write", 2 + later, 3, token=34, value="b")

    assert run.stale() == expected
