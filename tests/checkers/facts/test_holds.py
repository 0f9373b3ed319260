"""Holds: whose they are, until when they were promised, and when they were lost; at the boundaries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from checkers.facts.evidence import gather
from checkers.facts.holds import HoldIndex
from checkers.history.records import Header, History, Op
from tests.support.brute_force import operation, renumbered

CLIENTS = 10
TTL = 20


def granted(called: int, returned: int, client: int = 1, **fields: Any) -> Op:
    """A grant without a lease or a token, if the fields say nothing else."""
    return operation("acquire", client, called, returned, **{"owner": f"{client}", **fields})


def of_owner(f: str, called: int, returned: int, client: int = 1, **fields: Any) -> Op:
    return operation(f, client + CLIENTS, called, returned, owner=f"{client}", **fields)


def holds_of(*operations: Op, clients: int | None = CLIENTS) -> HoldIndex:
    header = Header(target="t", clients=clients)
    return HoldIndex(gather(History(header=header, operations=renumbered(operations))))


HOLD = granted(0, 5)
LEASED = replace(HOLD, ttl=TTL)  # until 20


@pytest.mark.parametrize(("clients", "expected"), [(CLIENTS, [1, 1, 3]), (None, [1, 11, 23])])
def test_the_processes_of_a_client_are_as_many_as_clients_apart(
    clients: int | None, expected: list[int]
) -> None:
    operations = HOLD, of_owner("renew", 6, 7), granted(8, 9, 23)

    assert holds_of(*operations, clients=clients).client.tolist() == expected


def test_without_an_earlier_moment_a_client_learns_as_it_returns() -> None:
    early, usual = granted(0, 5, learned=4), granted(1, 6, learned=None)

    assert holds_of(early, usual).learned.tolist() == [4, 6]


@pytest.mark.parametrize(
    ("called", "returned", "end"), [(9, 31, 29), (10, 31, 30), (11, 30, 31), (11, 31, 20)]
)
def test_a_promise_counts_what_was_called_or_answered_by_then(called: int, returned: int, end: int) -> None:
    holds = holds_of(LEASED, of_owner("renew", called, returned, ttl=TTL), of_owner("release", 12, 14))

    assert holds.promised_under(0, began=10, ended=30) == end


def test_what_was_not_granted_or_has_no_lease_is_not_promised() -> None:
    holds = holds_of(HOLD, operation("acquire", 1, 6, 7, "fail", owner="1", ttl=TTL))

    assert [holds.promised_under(hold, 9, 9) for hold in (0, 1)] == [-math.inf] * 2


@pytest.mark.parametrize("ttl", [TTL, None])
@pytest.mark.parametrize("f", ["release", "revoke"])
def test_a_hold_is_lost_once_its_release_or_revoke_is_called(f: str, ttl: int | None) -> None:
    holds = holds_of(replace(HOLD, ttl=ttl), of_owner(f, 9, 11), of_owner("release", 12, 13))

    assert [holds.is_held_at(0, moment) for moment in (8, 9)] == [True, False]
    assert [holds.was_lost_before(0, moment) for moment in (9, 10)] == [False, True]


@pytest.mark.parametrize(("called", "is_lost"), [(1, True), (2, True), (3, False)])
def test_a_release_that_was_over_before_the_acquire_ends_no_hold(called: int, *, is_lost: bool) -> None:
    holds = holds_of(of_owner("release", 0, 2), granted(called, 5))

    assert holds.was_lost_before(1, 9) is is_lost
    assert holds.is_held_at(1, 9) is not is_lost


@pytest.mark.parametrize(("renewed", "is_lost"), [(None, True), (20, False), (21, True)])
def test_a_hold_is_lost_after_its_promise_if_nothing_renewed_it(
    renewed: int | None, *, is_lost: bool
) -> None:
    renewals = [] if renewed is None else [of_owner("renew", renewed, renewed, ttl=TTL)]
    holds = holds_of(LEASED, *renewals)

    assert [holds.was_lost_before(0, moment) for moment in (20, 21)] == [False, is_lost]
    assert [holds_of(LEASED).is_held_at(0, moment) for moment in (19, 20)] == [True, False]
    assert not holds_of(HOLD).was_lost_before(0, 99)


@pytest.mark.parametrize(
    ("others", "lost"),
    [
        ([granted(6, 9, 2)], 9),
        ([granted(5, 9, 2)], None),  # sent as the first one returned
        ([granted(1, 9, 2, attempt=6)], 9),
        ([granted(6, 9)], None),  # of the same owner
        ([granted(1, 9, 2, token=8)], 9),
        ([granted(1, 9, 2, token=7)], None),
        ([granted(6, 12, 2), granted(7, 9, 3)], 9),
        ([operation("acquire", 2, 6, 9, "fail", owner="2")], None),
        ([granted(6, 9, 2, resource="r1")], None),
    ],
)
def test_a_hold_is_superseded_by_a_later_grant_to_another_owner(others: list[Op], lost: int | None) -> None:
    holds = holds_of(replace(HOLD, token=7), *others)

    assert holds.superseded_at(0) == (math.inf if lost is None else lost)
    assert [holds.is_held_at(0, moment) for moment in (8, 9)] == [True, lost is None]
    assert [holds.was_lost_before(0, moment) for moment in (9, 10)] == [False, lost is not None]


@pytest.mark.parametrize(("called", "lost"), [(2, 2), (3, math.inf)])
def test_a_grant_that_returned_before_a_request_is_not_later(called: int, lost: float) -> None:
    holds = holds_of(granted(0, 2, 2, token=8), granted(called, 5, token=7))

    assert holds.superseded_at(1) == lost


def test_the_acquires_of_an_owner_are_found_on_one_resource_or_all() -> None:
    refused = operation("acquire", 1, 6, 7, "fail", owner="1")
    holds = holds_of(HOLD, refused, granted(8, 9, resource="r1"), granted(10, 11, owner=None))

    assert holds.of_owner("1", None).tolist() == [0, 1, 2]
    assert holds.of_owner("1", "r0").tolist() == [0, 1]
    assert holds.of_owner("unknown", None).tolist() == []


@pytest.mark.parametrize(("moment", "found"), [(4, []), (5, [0]), (19, [0]), (20, [])])
def test_a_hold_is_sought_from_its_grant_until_its_loss(moment: int, found: list[int]) -> None:
    assert holds_of(LEASED, granted(30, 31, 2)).of_resource(0, moment).tolist() == found


@pytest.mark.parametrize(
    ("client", "began", "ended", "found"),
    [(1, 0, 29, [0]), (1, 19, 30, [0, 1]), (1, 20, 30, [1]), (2, 0, 99, [])],
)
def test_the_holds_of_a_client_overlap_an_interval(
    client: int, began: int, ended: int, found: list[int]
) -> None:
    holds = holds_of(LEASED, granted(30, 31, owner="1-2", ttl=TTL))

    assert holds.of_client(client, began, ended).tolist() == found


def test_a_section_ends_at_the_next_acquire_of_its_client() -> None:
    written = [operation("write", 1, 6, 7), operation("write", 2, 8, 9), operation("write", 1, 10, 11)]
    written[2] = replace(written[2], resource="r1")
    holds = holds_of(HOLD, *written, of_owner("renew", 12, 13), granted(14, 15), granted(16, 17))

    assert [holds.section(hold).tolist() for hold in (0, 5, 6)] == [[1, 4], [], []]


@pytest.mark.parametrize(
    ("process", "called", "grant"),
    [(2, 3, 0), (2, 4, 3), (12, 4, 3), (1, 5, 0), (1, 6, 5), (3, 9, 0)],
)
def test_a_write_is_of_its_clients_last_grant_with_its_token(process: int, called: int, grant: int) -> None:
    grants = granted(0, 2, token=7), granted(3, 4, 2, token=7), granted(5, 6, 11, token=7)
    write = operation("write", process, called, 9, token=7)

    found = holds_of(*grants, write).grant_behind(write)

    assert found is not None
    assert found.called == grant


def test_an_unknown_token_or_resource_has_no_grant() -> None:
    holds = holds_of(granted(0, 5, token=7), granted(6, 9, resource="r1", token=9))
    unknown = [(6, "r0"), (8, "r0"), (9, "r0"), (7, "r2")]

    for token, resource in unknown:
        assert holds.grant_behind(operation("write", 1, 9, 9, token=token, resource=resource)) is None
