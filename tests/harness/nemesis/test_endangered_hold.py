"""What the nemesis knows: of a hold from its operations, and of stop points no client comes to."""

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.history.records import Outcome
from checkers.vocabulary.hazards import Cell, Point
from harness.clients import pool
from harness.clients.recorder import RecordedSession
from harness.clients.shared_state import SharedProgress, SharedState
from harness.nemesis.endangered_hold import EndangeredHold
from harness.nemesis.hazard_walk import Aims
from harness.nemesis.triggers import ENOUGH, StopRequest, Victim, unreached
from tests.support.waiting import PATIENCE
from workloads.client import Answer

TTL = 1_000_000_000
RESOURCES = ("r0", "r1")


class Memory:
    """A recorder that keeps nothing."""

    passwords = ()

    def record(self, _event: dict[str, Any]) -> None:
        """Forget it."""


@pytest.fixture
def state() -> SharedState:
    return SharedState.create(multiprocessing.get_context("forkserver"), 2, 2, 0)


def session(state: SharedState, client: int) -> RecordedSession:
    return RecordedSession(Memory(), client, 2, leases=SharedProgress(state, client, RESOURCES))


def is_lost(state: SharedState, client: int) -> bool:
    return EndangeredHold.of(client, state, TTL).is_lost


def test_a_lease_is_known_from_each_answer_that_promises_one(state: SharedState) -> None:
    recorded = session(state, 0)

    recorded.call("acquire", "r0", lambda: {"token": 1, "ttl": 50, "attempt": 100}, owner="0-1")
    assert state.clients[0].lease_end == 150
    before = time.monotonic_ns()
    recorded.call("renew", "r0", lambda: {"ttl": TTL}, owner="0-1")
    assert before + TTL <= state.clients[0].lease_end <= time.monotonic_ns() + TTL
    known = state.clients[0].lease_end
    recorded.call("acquire", "r0", lambda: {"token": 1, "ttl": None, "attempt": 100}, owner="0-1")
    assert state.clients[0].lease_end == known


@pytest.mark.parametrize("token", [7, None])
@pytest.mark.parametrize("ttl", [TTL, None])
def test_no_hold_is_lost_to_its_own_renewal(state: SharedState, token: int | None, ttl: int | None) -> None:
    """As etcd's lock service has it: its lease is renewed while the lock is awaited and its grant reported."""
    recorded, progress = session(state, 0), SharedProgress(state, 0, RESOURCES)

    def grant() -> dict[str, Any]:
        progress.granted("r0", "0-1")
        recorded.call("renew", "r0", lambda: {"ttl": TTL}, owner="0-1")
        return {"token": token, "ttl": ttl}

    progress.waiting("r0")
    recorded.call("acquire", "r0", grant, owner="0-1")
    for point in ("acquired", "before-write", "write-sent"):
        progress.reached(point, "r0", "0-1", token)
        recorded.call("renew", "r0", lambda: {"ttl": TTL}, owner="0-1")
        assert not is_lost(state, 0)
    progress.accepted("r0", token)
    progress.reached("before-release", "r0", "0-1", token)

    assert not is_lost(state, 0)


@pytest.mark.parametrize("token", [7, None])
def test_a_hold_is_lost_to_a_later_one_but_no_awaited_one(state: SharedState, token: int | None) -> None:
    SharedProgress(state, 0, RESOURCES).waiting("r0")
    session(state, 0).call("acquire", "r0", lambda: {"token": token}, owner="0-1")
    SharedProgress(state, 0, RESOURCES).reached("acquired", "r0", "0-1", token)
    later = SharedProgress(state, 1, RESOURCES)

    later.waiting("r0")
    session(state, 1).call("renew", "r0", lambda: {"ttl": TTL}, owner="1-1")
    assert not is_lost(state, 0)
    session(state, 1).call("acquire", "r0", lambda: {"token": token and token + 1}, owner="1-1")
    later.reached("acquired", "r0", "1-1", token and token + 1)

    assert (is_lost(state, 0), is_lost(state, 1)) == (True, False)


HELD_FOR = 100_000_000  # ns
OK = Answer(Outcome.OK, {})


@pytest.fixture
def shared(folder: Path) -> Iterator[SharedState]:
    """The state of two clients on one resource."""
    with pool.started(2, 1, 1, folder) as started:
        yield started.state


def client(shared: SharedState, number: int = 0) -> SharedProgress:
    return SharedProgress(shared, number, ("r0",), HELD_FOR)


CHANCES = [(Point.GRANTED, "acquire"), (Point.WRITE_SENT, "write"), (Point.WRITE_SENT, "append")]


@pytest.mark.parametrize(("point", "f"), CHANCES)
def test_a_point_is_unreached_after_enough_chances(shared: SharedState, point: Point, f: str) -> None:
    for chance in range(ENOUGH[point]):
        assert unreached(shared, {point}) == frozenset()
        client(shared, chance % 2).ended(f, OK)

    assert unreached(shared, {point}) == {point}
    assert unreached(shared, ()) == frozenset()


@pytest.mark.parametrize(("point", "f"), CHANCES)
def test_a_point_to_which_one_client_came_is_reached(shared: SharedState, point: Point, f: str) -> None:
    for _ in range(ENOUGH[point]):
        client(shared).ended(f, OK)

    client(shared, 1).reached(point, "r0", "1-1", 7)

    assert unreached(shared, {point}) == frozenset()


@pytest.mark.parametrize(("point", "f"), CHANCES)
def test_what_did_not_succeed_was_no_chance(shared: SharedState, point: Point, f: str) -> None:
    for _ in range(2 * ENOUGH[point]):
        client(shared).ended(f, Answer(Outcome.INFO, {}))
        client(shared).ended(f, Answer(Outcome.FAIL, {"error": "stale"}))

    assert unreached(shared, {point}) == frozenset()


def wait_for_renewals(shared: SharedState, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Have holders come to `acquired` while a stop at a renewal is requested, as often as is enough."""
    with StopRequest(shared, 0, "renewing", Victim(resource=0)).armed():
        for nth in range(ENOUGH[Point.RENEWING]):
            args = ("acquired", "r0", f"0-{nth}", nth)
            waiting = threading.Thread(target=client(shared).reached, args=args)
            waiting.start()
            meanwhile()
            waiting.join(PATIENCE)
            assert not waiting.is_alive()


def test_a_holder_waits_for_its_renewal_until_its_lease_is_nearly_over(shared: SharedState) -> None:
    began = time.monotonic_ns()

    wait_for_renewals(shared)

    assert time.monotonic_ns() - began > ENOUGH[Point.RENEWING] * HELD_FOR * 0.9
    assert unreached(shared, {Point.RENEWING}) == {Point.RENEWING}


def test_a_holder_that_a_fault_has_reserved_had_no_chance_to_renew(shared: SharedState) -> None:
    def reserve() -> None:
        shared.clients[0].taken = 1

    wait_for_renewals(shared, reserve)

    assert unreached(shared, {Point.RENEWING}) == frozenset()


def test_a_late_renewal_makes_the_point_reached(shared: SharedState) -> None:
    wait_for_renewals(shared)

    client(shared, 1).renewing("r0", "1-1")

    assert unreached(shared, {Point.RENEWING}) == frozenset()


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


def test_a_fault_hits_a_hold_that_is_released_after_it_began(state: SharedState) -> None:
    progress = SharedProgress(state, 0, RESOURCES)
    progress.reached("before-write", "r0", "0-1", 1)
    began = time.monotonic_ns()
    progress.releasing()
    progress.exited()

    hold = EndangeredHold.of(0, state, TTL)

    assert hold.begin(began)
    assert not hold.begin(time.monotonic_ns())
