"""Which stop points no client comes to, and how a walk and a holder treat those."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkers.history.records import Outcome
from checkers.vocabulary.hazards import Cell, Point
from harness.clients import pool
from harness.clients.process import SharedProgress
from harness.clients.shared_state import SharedState
from harness.nemesis.hazard_walk import Aims
from harness.nemesis.triggers import ENOUGH, StopRequest, Victim, unreached
from tests.support.waiting import PATIENCE
from workloads.client import Answer

TTL = 100_000_000  # ns
OK = Answer(Outcome.OK, {})


@pytest.fixture
def state(folder: Path) -> Iterator[SharedState]:
    """The state of two clients on one resource."""
    with pool.started(2, 1, 1, folder) as started:
        yield started.state


def client(state: SharedState, number: int = 0) -> SharedProgress:
    return SharedProgress(state, number, ("r0",), TTL)


CHANCES = [(Point.GRANTED, "acquire"), (Point.WRITE_SENT, "write"), (Point.WRITE_SENT, "append")]


@pytest.mark.parametrize(("point", "f"), CHANCES)
def test_a_point_is_unreached_after_enough_chances(state: SharedState, point: Point, f: str) -> None:
    for chance in range(ENOUGH[point]):
        assert unreached(state, {point}) == frozenset()
        client(state, chance % 2).ended(f, OK)

    assert unreached(state, {point}) == {point}
    assert unreached(state, ()) == frozenset()


@pytest.mark.parametrize(("point", "f"), CHANCES)
def test_a_point_to_which_one_client_came_is_reached(state: SharedState, point: Point, f: str) -> None:
    for _ in range(ENOUGH[point]):
        client(state).ended(f, OK)

    client(state, 1).reached(point, "r0", "1-1", 7)

    assert unreached(state, {point}) == frozenset()


@pytest.mark.parametrize(("point", "f"), CHANCES)
def test_what_did_not_succeed_was_no_chance(state: SharedState, point: Point, f: str) -> None:
    for _ in range(2 * ENOUGH[point]):
        client(state).ended(f, Answer(Outcome.INFO, {}))
        client(state).ended(f, Answer(Outcome.FAIL, {"error": "stale"}))

    assert unreached(state, {point}) == frozenset()


def wait_for_renewals(state: SharedState, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Have holders come to `acquired` while a stop at a renewal is requested, as often as is enough."""
    with StopRequest(state, 0, "renewing", Victim(resource=0)).armed():
        for nth in range(ENOUGH[Point.RENEWING]):
            args = ("acquired", "r0", f"0-{nth}", nth)
            waiting = threading.Thread(target=client(state).reached, args=args)
            waiting.start()
            meanwhile()
            waiting.join(PATIENCE)
            assert not waiting.is_alive()


def test_a_holder_waits_for_its_renewal_until_its_lease_is_nearly_over(state: SharedState) -> None:
    began = time.monotonic_ns()

    wait_for_renewals(state)

    assert time.monotonic_ns() - began > ENOUGH[Point.RENEWING] * TTL * 0.9
    assert unreached(state, {Point.RENEWING}) == {Point.RENEWING}


def test_a_holder_that_a_fault_has_reserved_had_no_chance_to_renew(state: SharedState) -> None:
    def reserve() -> None:
        state.clients[0].taken = 1

    wait_for_renewals(state, reserve)

    assert unreached(state, {Point.RENEWING}) == frozenset()


def test_a_late_renewal_makes_the_point_reached(state: SharedState) -> None:
    wait_for_renewals(state)

    client(state, 1).renewing("r0", "1-1")

    assert unreached(state, {Point.RENEWING}) == frozenset()


def test_a_walk_leaves_out_what_no_client_comes_to() -> None:
    granted, written = Cell.named("granted/expired"), Cell.named("before-write/expired")
    never: set[str] = set()
    aims = Aims((granted, written), unreached=lambda: never)

    assert aims.take(9) == (granted,)
    never.add("granted")
    assert [aims.take(9), aims.take(9)] == [(written,), (written,)]
    never.clear()
    assert [aims.take(9), aims.take(9)] == [(granted,), (written,)], "an event came after all"


def test_a_walk_to_which_no_moment_is_left_ends() -> None:
    assert Aims((Cell.named("granted/expired"),), unreached=lambda: {"granted"}).take(9) == ()
