"""Line-ups: real processes stop at their places, and one pause of a server endangers the hold of each."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from checkers.vocabulary.hazards import Cell, End
from harness.clients import pool
from harness.clients.shared_state import OUTSIDE, SharedProgress, SharedState
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.line_up import LONGEST, LineUp, Place
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import Observer, PlanLog, plan
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Reservations
from harness.nemesis.triggers import StopRequest, Victim
from harness.nemesis.windows import NO_TAKEOVER
from harness.network.topology import Address, Server
from tests.support.waiting import wait_for

SECOND = 1_000_000_000
TTL = 10 * SECOND
STOPPED = psutil.STATUS_STOPPED
NOWHERE = Address("127.0.0.1", 1)
WALK = PauseSpec(kind="pause", target="lock", hazards="all")

Work = Callable[[SharedProgress], None]


class OneServer:
    """A cluster of one process, whose protocol nobody knows; it notes who is stopped when."""

    def __init__(self, process: psutil.Process, clients: Sequence[psutil.Process]) -> None:
        self.process = process
        self.clients = clients
        self.servers = (Server(name="lock-1", system="", address=NOWHERE, upstream=NOWHERE),)
        self.seen: list[list[bool]] = []  # which clients were stopped at each begin and end of a pause

    def edge(self, _client: int, _server: str) -> Address:
        return NOWHERE

    def pause(self, _servers: Sequence[str]) -> str:
        self._note()
        self.process.suspend()
        assert wait_for(lambda: self.process.status() == STOPPED)
        return "it is stopped"

    def resume(self, _servers: Sequence[str]) -> str:
        self._note()
        self.process.resume()
        assert wait_for(lambda: self.process.status() != STOPPED)
        return "it runs again"

    def _note(self) -> None:
        self.seen.append([client.status() == STOPPED for client in self.clients])


@pytest.fixture
def state(folder: Path) -> Iterator[SharedState]:
    """The state of four clients on two resources."""
    with pool.started(4, 2, 2, folder) as started:
        yield started.state


@contextmanager
def cluster(state: SharedState, *works: Work) -> Iterator[OneServer]:
    """A server, and a process for each client that does this work."""
    clients = []
    with subprocess.Popen(["sleep", "1000"]) as server:
        try:
            for number, work in enumerate(works):
                pid = os.fork()
                if not pid:
                    work(SharedProgress(state, number, ("r0", "r1")))
                    os._exit(0)
                clients.append(psutil.Process(pid))
            yield OneServer(psutil.Process(server.pid), clients)
        finally:
            state.run.stop = 1
            server.kill()
            for client in clients:
                client.kill()
                os.waitpid(client.pid, 0)


def holding(resource: str, *points: str) -> Work:
    """Hold a lock again and again."""

    def work(progress: SharedProgress) -> None:
        nth = 0
        while not progress.state.run.stop:
            nth += 1
            for point in points:
                progress.reached(point, resource, f"{progress.client}-{nth}", 10 * nth)
            progress.exited()
            time.sleep(0.0005)

    return work


def following(other: int, resource: str) -> Work:
    """Be granted a lock once a client that held it has gone on and left, and write at once."""

    def work(progress: SharedProgress) -> None:
        former = progress.state.clients[other]
        while not former.owner or former.phase != OUTSIDE:
            time.sleep(0.0005)
        token = former.token + 1
        progress.reached("acquired", resource, f"{progress.client}-1", token)
        progress.accepted(resource, token)
        while not progress.state.run.stop:
            time.sleep(0.0005)

    return work


def once(resource: str, *points: str) -> Work:
    """Hold a lock once, as soon as a stop is requested."""

    def work(progress: SharedProgress) -> None:
        place = progress.resources.index(resource)
        while not progress.state.stop_requests[place].point:
            time.sleep(0.0005)
        for point in points:
            progress.reached(point, resource, f"{progress.client}-1", 10)
        progress.exited()
        while not progress.state.run.stop:
            time.sleep(0.0005)

    return work


def observer(recorded: list[dict[str, Any]], *hazards: str) -> Observer:
    log = PlanLog(
        seed=1,
        started=time.monotonic_ns(),
        duration=600 * SECOND,
        planned=plan((WALK,), 1, TTL, 600 * SECOND, hazards),
        save=lambda _document: None,
    )
    return Observer(log=log, record=recorded.append, notify=lambda _event: None)


def reach_of(server: OneServer) -> FaultReach:
    return FaultReach(cluster=server, sides={"lock": ("lock-1",)}, processes=server.clients)


def struck(
    state: SharedState, server: OneServer, hazards: Sequence[str], ttl: int = TTL
) -> tuple[list[End | None], list[str | None], list[dict[str, Any]]]:
    """Line up for a hazard of each resource, and pause; return the ends, the windows, and what was recorded."""
    recorded: list[dict[str, Any]] = []
    clients = ClientFaults(
        ttl=ttl,
        state=state,
        resources=("r0", "r1"),
        reach=reach_of(server),
        reservations=Reservations(state),
        observer=observer(recorded),
        over=threading.Event(),
    )
    places = [
        Place(
            cell=cell,
            request=StopRequest(state, number, cell.point, Victim(resource=number)),
            next_request=StopRequest(state, number, "acquired", Victim(resource=number)),
        )
        for number, cell in enumerate(map(Cell.named, hazards))
    ]
    windows: list[str | None] = []
    LineUp(clients, WALK, places[0].cell.end, places).strike(
        time.monotonic_ns() + 60 * SECOND, windows.append
    )
    assert not clients.reservations.clients
    assert not clients.reservations.taken
    return [place.end for place in places], windows, recorded


def test_one_pause_hits_a_holder_of_each_resource_at_its_own_point(state: SharedState) -> None:
    works = once("r0", "granted", "acquired"), once("r1", "acquired", "write-sent")
    hazards = ("granted/before-expiry/lock", "write-sent/before-expiry/lock")
    with cluster(state, *works) as server:
        ends, windows, recorded = struck(state, server, hazards)

    assert ends == [End.BEFORE_EXPIRY] * 2
    assert windows == [None, None]
    assert [event["value"]["state"] for event in recorded] == ["in force", "healed"]
    assert server.seen == [[True, True], [False, False]]


def test_the_next_holder_waits_where_a_lock_must_not_be_superseded(state: SharedState) -> None:
    works = once("r0", "acquired", "before-write"), following(0, "r0")
    with cluster(state, *works) as server:
        ends, windows, recorded = struck(state, server, ("before-write/regranted/lock/delayed",))
        went_on = wait_for(lambda: state.written[2].token == 11)  # of client 1, on r0

    assert (ends, windows) == ([End.REGRANTED], [None])
    assert server.seen == [[True, False], [False, False]]
    assert recorded[-1]["time"] < time.monotonic_ns()
    assert went_on


def test_a_holder_that_would_release_too_soon_stays_until_the_pause_ends(state: SharedState) -> None:
    works = once("r0", "acquired", "before-release"), following(0, "r0")
    with cluster(state, *works) as server:
        ends, windows, _ = struck(state, server, ("before-release/before-expiry/lock",))
        went_on = wait_for(lambda: state.written[2].token == 11)  # of client 1, on r0

    assert (ends, windows) == ([End.BEFORE_EXPIRY], [None])
    assert went_on


def test_the_next_holder_goes_on_if_the_lock_is_to_be_superseded(state: SharedState) -> None:
    works = once("r0", "acquired", "before-write"), following(0, "r0")
    with cluster(state, *works) as server:
        ends, windows, _ = struck(state, server, ("before-write/superseded/lock/delayed",))

    assert (ends, windows) == ([End.SUPERSEDED], [None])


@pytest.mark.slow
def test_a_pause_ends_even_if_a_hold_never_comes_to_its_aimed_end(state: SharedState) -> None:
    works = once("r0", "before-write"), once("r1", "before-release"), following(1, "r1")
    hazards = ("before-write/superseded/lock/delayed", "before-release/superseded/lock/delayed")
    began = time.monotonic_ns()
    with cluster(state, *works) as server:
        ends, windows, _ = struck(state, server, hazards, ttl=SECOND)
        took = time.monotonic_ns() - began

    assert ends == [End.EXPIRED, End.SUPERSEDED]
    assert windows == [NO_TAKEOVER, None]
    assert took >= LONGEST * SECOND


@pytest.mark.slow
def test_a_hold_whose_lock_others_have_is_not_endangered(state: SharedState) -> None:
    successor = SharedProgress(state, 2, ("r0", "r1"))
    successor.reached("acquired", "r0", "2-1", 99)
    with cluster(state, once("r0", "before-write")) as server:
        ends, windows, recorded = struck(state, server, ("before-write/expired/lock/delayed",))
        goes_on = wait_for(lambda: server.clients[0].status() != STOPPED)

    assert (ends, windows, recorded) == ([None], [], [])
    assert server.seen == []
    assert goes_on


def test_nothing_stays_stopped_when_a_walk_is_cut_short(state: SharedState) -> None:
    works = holding("r0", "before-write"), holding("r1", "before-write")
    hazards = ("before-write/superseded/lock/delayed", "before-write/regranted/lock/delayed")
    with cluster(state, *works) as server:
        nemesis = Nemesis(
            faults=(WALK,),
            ttl=TTL,
            state=state,
            resources=("r0", "r1"),
            reach=reach_of(server),
            observer=observer([], *hazards),
        )
        with nemesis:
            assert wait_for(lambda: server.process.status() == STOPPED)
        nemesis.check()
        everything = [server.process, *server.clients]

        assert wait_for(lambda: all(process.status() != STOPPED for process in everything))
        assert sum(nemesis.log.document()["windows"][0]["missed"].values()) == 2
