"""What the nemesis knows of a hold, from the operations of its client as they are recorded."""

import multiprocessing
import time
from typing import Any

import pytest

from harness.clients.process import SharedProgress
from harness.clients.recorder import RecordedSession
from harness.clients.shared_state import SharedState
from harness.nemesis.endangered_hold import EndangeredHold

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
def test_a_hold_is_not_lost_to_its_own_renewal(
    state: SharedState, token: int | None, ttl: int | None
) -> None:
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
