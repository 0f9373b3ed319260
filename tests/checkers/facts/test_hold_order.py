"""Holds without tokens: which grant a write belongs to, and which of two holds came first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers.facts.evidence import gather
from checkers.facts.hold_order import HoldOrder, came_before
from checkers.history.records import Op
from checkers.rules.late_writes import late_writes
from tests.support.brute_force import history_of, operation, renumbered
from tests.support.lock_requests import locks


def granted(called: int, returned: int, owner: str = "a", **fields: Any) -> Op:
    return operation("acquire", 0, called, returned, owner=owner, **fields)


def write(called: int, owner: str | None = "a", **fields: Any) -> Op:
    return operation("write", 0, called, called + 1, **{"owner": owner, "value": f"v{called}", **fields})


def holds_of(*operations: Op) -> HoldOrder:
    return HoldOrder(locks(*renumbered(operations)))


@pytest.mark.parametrize(("called", "grant"), [(2, None), (3, 1), (6, 1), (7, 5), (9, 5)])
def test_a_write_is_of_its_owners_last_grant_by_then(called: int, grant: int | None) -> None:
    operations = renumbered([granted(1, 3), granted(1, 2, "b"), granted(5, 7), write(called)])
    (own,) = (op for op in operations if op.f == "write")

    found = holds_of(*operations).grant_behind(own)

    assert (None if found is None else found.called) == grant


def test_of_grants_that_returned_together_the_last_one_called_counts() -> None:
    holds = holds_of(*(granted(called, 40) for called in range(30)), write(41))

    assert holds.grant_of(holds.writes).tolist() == [29]


def test_a_grant_at_the_call_of_the_first_operation_may_be_its_own() -> None:
    operations = write(5), granted(5, 5)

    assert holds_of(*operations).grant_behind(operations[0]) == replace(operations[1], index=1)


def test_only_what_names_an_owner_and_no_token_is_of_such_a_hold() -> None:
    holds = holds_of(
        granted(0, 1),
        granted(2, 3, token=1),
        granted(4, 5, outcome="fail"),
        granted(6, 7, owner=None),
        granted(8, 9, resource="r1"),
        write(10),
        write(11, token=1),
        write(12, owner=None),
        write(13, "b"),
        write(14, resource="r2"),
    )

    assert (holds.grants.tolist(), holds.writes.tolist()) == ([0, 4], [5])
    assert holds.grant_of(np.array([4, 5, 6])).tolist() == [-1, 0, -1]
    assert [op.called for op in holds.operations(holds.grants)] == [0, 8]


def test_without_grants_no_write_has_a_known_hold() -> None:
    holds = holds_of(write(0), write(1))

    assert holds.writes.tolist() == []


def test_a_write_that_no_client_sent_is_of_no_hold() -> None:
    stray = write(5, index=-1)

    assert holds_of(granted(0, 1), write(2)).grant_behind(stray) is None


@pytest.mark.parametrize(("sent", "is_earlier"), [(5, False), (6, True)])
def test_a_hold_came_before_what_was_sent_after_its_grant(sent: int, *, is_earlier: bool) -> None:
    earlier = granted(0, 5)

    assert came_before(earlier, granted(sent, 9, "b")) is is_earlier
    assert came_before(earlier, granted(1, 9, "b", attempt=sent)) is is_earlier
    assert not came_before(granted(0, 5, outcome="info"), granted(sent, 9, "b"))


def test_a_write_is_late_after_the_latest_grant_by_its_call() -> None:
    grants = [granted(2 * n, 2 * n + 1, owner) for n, owner in enumerate("abcd")]
    operations = renumbered([*grants, write(6)])

    (late,) = late_writes(gather(history_of(operations, fenced=False)))

    assert [op.owner for op in (late.accused, *late.because)] == ["a", "c", "a"]
