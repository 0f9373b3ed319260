"""Which operations on locks the rules have to look at, at the borders of what they accuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checkers.facts import narrowing
from checkers.facts.evidence import Evidence
from checkers.facts.narrowing import (
    GrantColumns,
    narrowed,
    of_beliefs,
    of_long_waits,
    of_lower_tokens,
    of_promised_leases,
    of_shared_tokens,
    of_starved,
)
from checkers.history.columns import ABSENT, NEVER, indices
from checkers.history.records import Header, History, Op
from checkers.rules.starvation import starved
from tests.support.brute_force import operation, renumbered


def lock(f: str, owner: str, called: int, returned: int, outcome: str = "ok", **fields: object) -> Op:
    return operation(f, 0, called, returned, outcome, **{"owner": owner, **fields})


def grant(owner: str, called: int, returned: int, token: int | None = None, ttl: int | None = None) -> Op:
    return lock("acquire", owner, called, returned, token=token, ttl=ttl)


def refused(called: int, returned: int, process: int = 1) -> Op:
    return replace(lock("acquire", f"w{called}", called, returned, "fail"), process=process)


def on(resource: str, op: Op) -> Op:
    return replace(op, resource=resource)


def locks(*operations: Op) -> Evidence:
    return Evidence(history=History(header=Header(target="t"), operations=renumbered(operations)))


def holds(*operations: Op) -> GrantColumns:
    return GrantColumns(locks(*operations))


def test_grants_share_a_token_on_their_resource() -> None:
    grants = [grant("a", 0, 1, 1), grant("b", 2, 3, 1), grant("c", 4, 5, 2), on("r1", grant("d", 6, 7, 1))]
    without = [grant("e", 8, 9), grant("f", 10, 11)]

    assert of_shared_tokens(holds(*grants, *without)).tolist() == [0, 1]


def test_a_lower_token_is_judged_with_the_higher_ones_that_returned_before() -> None:
    operations = [
        grant("low", 0, 1, 1),
        grant("during", 0, 4, 7),
        grant("high", 2, 3, 5),
        lock("renew", "low", 2, 3),
        lock("revoke", "high", 3, 4),
        grant("accused", 4, 5, 3),
        grant("later", 6, 7, 8),
        grant("none", 8, 9),
    ]

    chosen = of_lower_tokens(holds(*operations)).tolist()

    assert [operations[row].owner for row in chosen] == ["high", "high", "accused"]


def test_the_greatest_before_a_moment_is_of_its_resource() -> None:
    found = holds(
        grant("a", 0, 1, 5),
        grant("b", 2, 3, 4),
        grant("c", 4, 5, 3),
        on("r1", grant("d", 6, 7, 1)),
        on("r1", grant("e", 8, 9, 2)),
    )

    greatest = found.greatest_before(found.returned, found.token, asked=found.sent)

    assert greatest.tolist() == [ABSENT, 5, 5, ABSENT, 1]


@pytest.mark.parametrize(("returned", "rows"), [(9, [2, 3]), (10, [])])
def test_a_grant_within_an_earlier_lease_is_judged_with_it(returned: int, rows: list[int]) -> None:
    operations = [
        grant("over", 0, 1, 1, ttl=1),
        on("r1", grant("elsewhere", 0, 1, 1, ttl=50)),
        grant("a", 2, 3, 2, ttl=8),
        grant("b", 8, returned, 3),
    ]

    assert of_promised_leases(holds(*operations)).tolist() == rows


@pytest.mark.parametrize(("returned", "rows"), [(4, [0, 1, 3]), (5, [])])
def test_a_grant_before_an_earlier_one_was_given_up_is_judged_with_it(returned: int, rows: list[int]) -> None:
    operations = [
        grant("a", 0, 1),
        grant("b", 3, returned),
        on("r1", grant("elsewhere", 4, 5)),
        lock("release", "a", 5, 6),
    ]

    assert of_beliefs(holds(*operations)).tolist() == rows


@pytest.mark.parametrize(
    ("others", "ends"),
    [
        ([], [15]),
        ([lock("release", "a", 8, 9)], [8]),
        ([lock("revoke", "a", 8, 9, "info")], [8]),
        ([lock("release", "a", 3, 4)], [15]),
        ([lock("release", "a", 3, 5)], [3]),
        ([grant("a", 9, 10, ttl=10), lock("release", "a", 11, 12)], [19, 19]),
        ([lock("renew", "a", 8, 9, ttl=9)], [17]),
    ],
    ids=["lease", "release", "revoke", "release before", "release until then", "two grants", "renew"],
)
def test_a_promise_ends_with_its_lease_or_when_its_owner_gives_up(others: list[Op], ends: list[int]) -> None:
    assert holds(grant("a", 5, 6, ttl=10), *others).promised_at_most().tolist() == ends


def test_a_hold_is_superseded_by_the_first_grant_that_was_asked_for_later() -> None:
    later = grant("b", 4, 6), grant("c", 2, 9)

    assert holds(grant("a", 0, 1), *later).kept_at_most().tolist() == [6, NEVER, NEVER]
    assert holds(grant("a", 0, 1), grant("a", 4, 6)).kept_at_most().tolist() == [NEVER, NEVER]


@pytest.mark.parametrize(
    ("other", "lease", "end"),
    [
        (lock("release", "a", 2, 3), 10, 3),
        (lock("release", "a", 2, 3, "fail"), 10, 11),
        (lock("renew", "a", 2, 3), 10, 11),
        (lock("renew", "a", 2, 3), NEVER, NEVER),
    ],
    ids=["released", "not released", "renewed", "a lease without end"],
)
def test_a_lock_is_held_until_its_release_or_for_its_lease(other: Op, lease: int, end: int) -> None:
    assert holds(grant("a", 0, 1), other).held_at_least(np.array([lease])).tolist() == [end]


@pytest.mark.parametrize(
    ("operations", "chosen"),
    [
        ([refused(0, 10)], False),
        ([refused(0, 11)], True),
        ([refused(0, 11), on("r1", refused(0, 11))], True),
        ([refused(100, 105)], False),
        ([refused(0, 6), refused(7, 14)], True),
        ([refused(0, 10), refused(20, 30)], False),
        ([refused(0, 6), refused(7, 7), refused(8, 14)], False),
        ([refused(0, 11), grant("a", 10, 10)], False),
        ([refused(0, 12), grant("a", 11, 11)], True),
        ([refused(100, 111), grant("a", 105, 105)], False),
        ([refused(100, 120), grant("b", 110, 110), grant("a", 101, 115)], False),
        ([refused(0, 11), lock("renew", "a", 1, 2, ttl=1)], False),
        ([refused(0, 12), lock("renew", "a", 1, 2, ttl=1)], True),
    ],
)
def test_a_lock_is_looked_at_if_clients_waited_while_it_was_free(
    operations: list[Op], *, chosen: bool
) -> None:
    rows = of_long_waits(holds(*operations), lambda lease: lease + 10, gap=1).tolist()

    assert rows == (list(range(len(operations))) if chosen else [])


OF_ALL_KINDS = (
    lock("renew", "a", 20, 21),
    lock("release", "a", 22, 23),
    lock("revoke", "a", 24, 25),
)


@pytest.mark.parametrize(
    ("operations", "clients", "chosen"),
    [
        ([refused(1, 2), refused(10, 12), *OF_ALL_KINDS], None, True),
        ([refused(1, 2), refused(10, 11)], None, False),
        ([refused(1, 2), grant("a", 5, 6), refused(10, 12)], None, True),
        ([refused(1, 2), replace(grant("a", 5, 6), process=1), refused(10, 12)], None, False),
        ([refused(1, 2), refused(10, 12, process=11)], 10, True),
        ([refused(1, 2), refused(10, 12, process=11)], None, False),
        ([refused(1, 2), refused(10, 12, process=2)], 10, False),
    ],
    ids=["refused", "not longer", "another's grant", "granted", "one client", "two processes", "two clients"],
)
def test_a_lock_is_looked_at_if_one_client_was_refused_for_long(
    operations: list[Op], clients: int | None, *, chosen: bool
) -> None:
    elsewhere = on("r1", refused(30, 31))

    rows = of_starved(holds(*operations, elsewhere), 10, clients).tolist()

    assert rows == (list(range(len(operations))) if chosen else [])


def test_only_a_long_history_is_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "FEW", 2)
    short, long = locks(grant("a", 0, 1, 1)), locks(grant("a", 0, 1, 1), lock("release", "a", 2, 3))

    assert narrowed(short, of_shared_tokens) is short
    assert narrowed(long, lambda found: indices(found.columns.token == 1)).history.operations == (
        long.history.operations[0],
    )


def test_no_client_starves_without_an_acquire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "FEW", 0)

    assert list(starved(locks(lock("renew", "a", 0, 1)))) == []
