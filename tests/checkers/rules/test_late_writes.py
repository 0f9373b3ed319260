"""Late writes and stale attempts on literal columns, and writes without a token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.facts.evidence import Evidence, gather
from checkers.history.reader import parse
from checkers.history.records import Commit, History, Op, Outcome
from checkers.rules.late_writes import late_writes
from checkers.rules.stale_writes import came_after_higher
from checkers.rules.stale_writes.story import SENT_AFTER_NEWER
from checkers.verdict.coverage import coverage
from checkers.verdict.judge import examine
from tests.support.brute_force import fenced as fence_of
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.in_columns import in_columns


class Recording:
    """A history in the making; each operation is called and returns before the next."""

    def __init__(self, **header: object) -> None:
        self._lines: list[dict[str, object]] = [{"fencepost": 1, "target": "t", **header}]

    def op(self, f: str, resource: str, token: int | None = None, kind: str = "ok", **fields: object) -> Any:
        time = len(self._lines)
        value = {"value": f"v{time}"} if f == "write" else {}
        asked = {"process": time, "f": f, "resource": resource} | fields
        answer = asked | value | ({} if token is None else {"token": token})
        called = answer if f in {"write", "fence"} else asked
        end = {"type": "fail", "error": "stale"} if kind == "stale" else {"type": kind}
        self._lines += [called | {"type": "invoke", "time": time}, answer | end | {"time": time + 1}]
        return self

    def write(self, resource: str, token: int, kind: str = "ok") -> Any:
        return self.op("write", resource, token, kind)

    def grant(self, resource: str, token: int) -> Any:
        return self.op("acquire", resource, token, owner=f"c{len(self._lines)}")

    def both(self) -> tuple[History, History]:
        lines = [json.dumps(line) + "\n" for line in self._lines]
        return parse(lines), in_columns(lines)

    def late(self) -> list[tuple[str, int | None]]:
        plain, columns = self.both()
        found = list(late_writes(gather(columns)))
        assert found == list(late_writes(Evidence(history=plain)))
        return [(each.accused.resource, each.accused.token) for each in found]

    def stale(self) -> tuple[int, int, int]:
        plain, columns = self.both()
        counts = coverage(gather(columns))
        assert counts == coverage(Evidence(history=plain))
        return (
            counts["stale_writes_attempted"],
            counts["stale_writes_rejected"],
            counts["stale_writes_accepted"],
        )


def granted(**header: object) -> Recording:
    """Tokens 1 to 9 were granted on both resources: any write below 9 is late."""
    run = Recording(**header)
    for resource in ("r0", "r1"):
        run.grant(resource, 1).grant(resource, 9)
    return run


@pytest.mark.parametrize(
    ("f", "token", "kind", "fields"),
    [("write", 5, "stale", {}), ("read", 0, "ok", {"value": None}), ("fence", 1, "ok", {})],
    ids=["write", "read", "fence"],
)
def test_late_writes_come_in_the_order_of_their_resources(
    f: str, token: int, kind: str, fields: dict[str, None]
) -> None:
    run = granted().op(f, "r1", token, kind, **fields).write("r0", 5).write("r1", 5)

    assert run.late() == [("r1", 5), ("r0", 5)]


def test_a_resource_whose_first_write_was_right_is_still_the_first() -> None:
    run = granted().write("r1", 2).write("r1", 3).write("r0", 4)

    assert run.late() == [("r1", 2), ("r1", 3), ("r0", 4)]


def test_late_writes_of_a_resource_come_in_the_order_of_their_calls() -> None:
    run = granted(policy="inclusive")
    for token in range(1, 9):
        for _ in range(4):
            run.write("r0", token).write("r1", token)

    tokens = [token for token in range(1, 9) for _ in range(4)]

    assert run.late() == [("r0", token) for token in tokens] + [("r1", token) for token in tokens]


def test_a_write_below_the_initial_token_is_not_a_stale_attempt() -> None:
    initial = {"value": "old", "token": 5}

    assert Recording(initial=initial).write("r0", 3).stale() == (0, 0, 0)
    assert Recording(initial=initial).write("r0", 3, "stale").stale() == (0, 0, 0)
    assert Recording(initial=initial).write("r0", 5).write("r0", 3).stale() == (1, 0, 1)


def test_writes_below_the_initial_token_are_compared_with_each_other() -> None:
    run = Recording(initial={"value": "old", "token": 5})
    run.write("r0", 3).write("r1", 2).write("r0", 2, "stale").write("r0", 1, "info").write("r1", 1)

    assert run.stale() == (2, 1, 1)


def test_a_stale_attempt_without_an_answer_is_not_counted() -> None:
    run = Recording(policy="inclusive").write("r0", 5)
    run.write("r0", 4).write("r0", 3, "stale").write("r0", 2, "info").write("r0", 5).write("r0", 5, "stale")

    assert run.stale() == (2, 1, 1)


def test_a_rejected_write_is_stale_below_what_may_have_been_accepted() -> None:
    run = Recording().write("r0", 5, "info").write("r0", 3, "stale").write("r0", 6, "stale")

    assert run.stale() == (1, 1, 0)


def test_a_write_after_a_newer_fence_is_a_stale_attempt() -> None:
    assert Recording().op("fence", "r0", 5).write("r0", 1).stale() == (1, 0, 1)
    assert Recording().op("fence", "r0", 5).write("r0", 1, "stale").stale() == (1, 1, 0)
    assert Recording().op("fence", "r0", 5).write("r0", 2).write("r0", 1).stale() == (2, 0, 2)


@pytest.mark.parametrize(
    ("token", "newer", "is_higher"),
    [
        (0, write(0, 1, 0, 1), True),
        (0, write(0, 0, 0, 1), False),
        (1, write(0, 1, 0, 1), False),
        (1, fence_of(write(0, 2, 0, 1)), False),  # a fence writes no value
    ],
)
def test_only_a_value_with_a_higher_token_is_higher(token: int, newer: Op, *, is_higher: bool) -> None:
    conflict = SENT_AFTER_NEWER.conflict(write(1, token, 2, 3), newer)

    assert came_after_higher(conflict) is is_higher


def test_without_grants_nothing_is_late() -> None:
    run = Recording(fenced=False).write("r0", 5).write("r0", 4)

    assert run.late() == []
    assert coverage(gather(run.both()[1]))["late_writes_attempted"] == 0


LOST: dict[str, Any] = {"outcome": Outcome.INFO, "returned": None}


def bare(write: Op, **changes: Any) -> Op:
    return replace(write, token=None, **changes)


def shown(*operations: Op, log: Sequence[Commit] | None = None) -> list[tuple[int, ...]]:
    """The operations that show it, for each write without a token."""
    found = examine(gather(history_of(renumbered(operations)), log)).findings
    return [each.because for each in found if each.anomaly == "unfenced-write"]


def test_its_answer_shows_that_a_write_took_effect() -> None:
    assert shown(bare(write(0, 1, 0, 1)), read(1, ("v0", None), 2, 3)) == [()]


def test_the_first_read_of_it_shows_that_an_unanswered_write_took_effect() -> None:
    lost = bare(write(0, 1, 0, 1), **LOST)

    assert shown(lost, read(1, ("v0", None), 2, 3), read(2, ("v0", None), 4, 5)) == [(1,)]


def test_the_log_shows_that_an_unanswered_write_took_effect() -> None:
    lost = bare(write(0, 1, 0, 1), **LOST)
    log = [Commit(seq=1, resource="r0", token=None, value="v0")]

    assert shown(lost, read(1, ("v0", None), 2, 3), log=log) == [()]
