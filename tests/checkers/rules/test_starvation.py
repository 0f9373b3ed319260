"""Starvation: what is shown of it, and what ends a hold meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts import narrowing
from checkers.history.records import Op
from checkers.rules.starvation import starved
from tests.support.lock_requests import GRACE, fault, granted, op, refused, run

LEAST = 5 * GRACE


def retried(first: int, last: int, owner: str = "1") -> list[Op]:
    """A client that asks again as soon as it was refused."""
    return [refused(at, at + 1, owner) for at in range(first, last)]


def accused(*operations: Op, **more: object) -> list[tuple[int, list[int]]]:
    """When the last refused acquire of each starved client was called, and when those that prove it were."""
    conflicts = starved(run(*operations, **more))
    return [(each.accused.called, [op.called for op in each.because]) for each in conflicts]


def test_the_last_refusal_is_accused_and_the_first_proves_it() -> None:
    assert accused(*retried(3, LEAST + 4)) == [(LEAST + 3, [3])]


def test_of_two_equally_long_stretches_of_a_client_the_first_is_shown() -> None:
    length = LEAST + 1
    own = granted(length, length, "1", ttl=None), op("release", "1", length, length, "ok")

    assert accused(*retried(0, length), *own, *retried(length, 2 * length)) == [(length - 1, [0])]


@pytest.mark.parametrize(("f", "outcome"), [("renew", "fail"), ("revoke", "ok"), ("release", "ok")])
def test_a_hold_lasts_until_a_failed_renewal_a_revoke_or_a_release(f: str, outcome: str) -> None:
    grant, end = granted(0, 0, ttl=None), op(f, "0", 1, 1, outcome, ttl=None)

    assert accused(grant, *retried(2, LEAST + 3)) == []
    assert accused(grant, end, *retried(2, LEAST + 3)) == [(LEAST + 2, [2])]


def test_the_lock_is_free_again_as_soon_as_the_service_is_healthy() -> None:
    down = fault("lock", 10, 20)

    assert accused(*retried(0, LEAST + 11), faults=down) == [(LEAST + 10, [0])]


@pytest.mark.parametrize(("clients", "found"), [(10, [(LEAST, [0])]), (None, [])])
def test_the_processes_of_a_client_wait_as_one_in_a_long_history(
    clients: int | None, found: list[tuple[int, list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrowing, "FEW", 0)
    asked = [replace(each, process=1 if each.called < 30 else 11) for each in retried(0, LEAST + 1)]

    assert accused(*asked, clients=clients) == found
