"""Clients of each kind whose servers stop in the middle of a call: every call, at every request.

A client waits no longer than its deadline, sends nothing twice, and calls an outcome certain
only if it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from checkers.history.records import Outcome
from harness.clients.recorder import RecordedSession
from harness.network.topology import ServerSpec
from tests.support.stopped import frozen
from tests.support.stopped_calls import LOCK_CALLS, STORAGE_CALLS, each_request
from tests.support.systems import (
    ENGINES,
    FENCE,
    LOCKS,
    RELEASES,
    SECOND,
    Memory,
    commits_of,
    endpoints,
    lock_clients,
    lock_settings,
    names,
    server,
    started,
    storage_clients,
    storage_settings,
)
from tests.support.tap import Tap
from tests.support.waiting import PATIENCE, wait_for
from workloads.client import NotApplied, Stale, Storage, Unknown
from workloads.locks import etcd_lock_service, redlock, set_up
from workloads.storages import load_kind

pytestmark = [pytest.mark.engine, pytest.mark.slow]
TIMEOUT = 1.0  # seconds
DEADLINE = 6.0  # seconds; for calls with several requests, or to several servers, on a slow machine
TTL = 6 * SECOND  # so that nothing is renewed during a test unless the test does it
SERVERS = dict.fromkeys(
    ("dynamodb", "etcd", "http", "kahuna", "mariadb", "postgres", "s3", "zookeeper"), 1
) | {"nats": 3, "redis": 5}


@pytest.fixture(scope="module")
def system(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def servers(
    system: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    engine = request.getfixturevalue(ENGINES.get(system, "local_engine"))
    specs = [server(f"{system}-{number + 1}", system) for number in range(SERVERS[system])]
    if len(specs) == 1 and system in {"dynamodb", "mariadb", "postgres"}:
        specs = [ServerSpec(name=system, system=system)]
    with started(engine, tmp_path_factory.mktemp("run"), *specs) as cluster:
        if system in LOCKS:
            set_up(lock_settings(system, endpoints(cluster, system)))
        yield cluster


@pytest.fixture(scope="module")
def direct(system: Any, servers: Any) -> list[str]:
    """The servers' own addresses, without a tap."""
    return endpoints(servers, system)


@pytest.fixture
def open_tap(system: Any, direct: list[str]) -> Iterator[Any]:
    with ExitStack() as stack:

        def open_one(count: int = 1) -> Tap:
            tap = Tap(system, direct[:count])
            stack.callback(tap.close)
            return tap

        yield open_one


@pytest.fixture
def stopping(system: Any, servers: Any) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Yield two functions: one freezes the servers on a tap's thread, one thaws them on the test's.

    On a busy machine the freeze may take longer than a client waits, so the thaw waits for its end.
    """
    lock, is_over = threading.Lock(), threading.Event()
    with ExitStack() as stack:

        def freeze() -> None:
            with lock:
                if not is_over.is_set():
                    stack.enter_context(frozen(servers, system))

        def thaw() -> None:
            with lock:
                is_over.set()
                stack.close()

        yield freeze, thaw


@pytest.fixture
def open_lock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(etcd_lock_service, "PATIENCE", 0.25)  # TTLs
    monkeypatch.setattr(redlock, "SERVER_TIMEOUT", 0.4)  # seconds; a busy machine's disk may need them
    with lock_clients() as open_one:

        def open_with_token(kind: str, endpoints: Any, client: int = 0, ttl: int = TTL) -> Any:
            return open_one(kind, endpoints, client, timeout=TIMEOUT, token=LOCKS[kind][2], ttl=ttl)

        yield open_with_token


@pytest.fixture(scope="module")
def resources(system: Any, direct: list[str]) -> Any:
    """Enough resources for the tests of one storage."""
    made = [next(names) for _ in range(40)]
    load_kind(system).set_up(storage_settings(system, direct[:1], timeout=10), made)
    return iter(made)


def outcome_of(f: Any, resource: Any, action: Callable[[], Any]) -> tuple[Outcome, float]:
    """Run a call as clients do; return its outcome, and how many seconds it took."""

    def act() -> dict[str, Any]:
        action()
        return {}

    called = time.monotonic()
    answer = RecordedSession(Memory(), process=0, stride=1).call(f, resource, act)
    return answer.outcome, time.monotonic() - called


@each_request(LOCK_CALLS, lambda call: LOCKS[call[0]][0])
def test_a_call_to_a_stopping_lock_ends_in_time_and_is_sent_once(
    open_tap: Any,
    open_lock: Any,
    stopping: tuple[Callable[[], None], Callable[[], None]],
    direct: list[str],
    call: tuple[str, str],
    nth: int,
) -> None:
    kind, f = call
    stop, go_on = stopping
    _, count, _ = LOCKS[kind]
    tap, resource = open_tap(count), next(names)
    lock, _ = open_lock(kind, tap.endpoints)
    tokens = [lock.acquire(resource, "0-1").token]
    if f == "acquire":
        lock.release(resource, "0-1")
    owner = "0-2" if f == "acquire" else "0-1"

    tap.stop_before(nth, stop)
    outcome, took = outcome_of(f, resource, lambda: getattr(lock, f)(resource, owner))
    sent = list(tap.requests)
    go_on()
    lock.reconnect()
    if outcome == "info" or f == "acquire":
        with suppress(NotApplied):  # a call with an unknown outcome has ended the lease
            lock.revoke(resource, owner)
    lock.close()

    outcomes = LOCK_CALLS[call].split()
    assert outcome == (outcomes[nth - 1] if nth else "ok")
    assert took < DEADLINE
    assert nth or len(sent) == len(outcomes)
    assert len(set(sent)) == len(sent)
    successor, _ = open_lock(kind, direct[:count], client=1)
    assert successor.acquire(resource, "1-1").token > max(tokens)
    successor.release(resource, "1-1")


@pytest.mark.parametrize(
    ("system", "kind"),
    [
        pytest.param(system, kind, id=kind, marks=pytest.mark.nightly if system in RELEASES else ())
        for kind, (system, *_) in LOCKS.items()
    ],
    indirect=["system"],
    scope="module",
)
def test_a_renewal_at_a_stopping_lock_is_unknown_and_sent_once(
    open_tap: Any, open_lock: Any, stopping: tuple[Callable[[], None], Callable[[], None]], kind: str
) -> None:
    stop, go_on = stopping
    _, count, _ = LOCKS[kind]
    tap, resource = open_tap(count), next(names)
    lock, memory = open_lock(kind, tap.endpoints, ttl=2 * SECOND)
    lock.acquire(resource, "0-1")
    wait_for(lambda: memory.of("ok"))  # by then it is logged in everywhere

    tap.stop_before(1, stop)
    already = len(memory.events)
    wait_for(lambda: memory.of("info"))
    asked = count if kind == "redlock" else 1
    wait_for(lambda: len(tap.requests) >= asked)  # its thread may still be stopping them
    sent = list(tap.requests)
    go_on()
    with suppress(Unknown, NotApplied):  # a ZooKeeper session may be moving by then, or the lease has ended
        lock.revoke(resource, "0-1")

    invoked, doubtful = memory.events[already : already + 2]
    assert (invoked["type"], doubtful["type"], doubtful["f"]) == ("invoke", "info", "renew")
    assert doubtful["time"] - invoked["time"] < DEADLINE * SECOND
    assert len(set(sent)) == len(sent) == asked


@each_request(STORAGE_CALLS, lambda call: call[0])
def test_a_call_to_a_stopping_storage_ends_in_time_applied_at_most_once(
    open_tap: Any,
    stopping: tuple[Callable[[], None], Callable[[], None]],
    direct: list[str],
    resources: Any,
    call: Any,
    nth: int,
) -> None:
    kind, fencing, f = call
    stop, go_on = stopping
    tap, resource = open_tap(), next(resources)
    left = []
    calls = {
        "write": lambda storage: storage.write(resource, 2, "late", lambda: left.append(time.monotonic())),
        "fence": lambda storage: storage.fence(resource, 2),
        "read": lambda storage: storage.read(resource),
    }
    with storage_clients(kind, tap.endpoints, fencing=fencing, timeout=TIMEOUT) as open_storage:
        storage = open_storage(policy="inclusive")  # inclusive would accept a repeated write
        storage.write(resource, 1, "first", lambda: None)

        tap.stop_before(nth, stop)
        outcome, took = outcome_of(f, resource, lambda: calls[f](storage))
        sent = list(tap.requests)
        go_on()
    tap.drain(30)

    outcomes = STORAGE_CALLS[call].split()
    assert outcome == (outcomes[nth - 1] if nth else "ok")
    assert took < DEADLINE
    assert nth or len(sent) == len(outcomes)
    assert len(set(sent)) == len(sent)
    applied = commits_of(kind, direct, resource)[1:]
    if f in {"write", "fence"}:
        logged = [(2, "late" if f == "write" else FENCE)]
        assert applied in {"ok": [logged], "info": [logged, []], "fail": [[]]}[outcome]
    if f == "write":
        assert len(left) == 1 or (outcome == "fail" and not left)
    if f == "fence" and outcome != "info":
        with storage_clients(kind, direct, fencing=fencing, timeout=10) as open_storage:
            assert is_fenced(open_storage(policy="inclusive"), resource) == (outcome == "ok")


def is_fenced(storage: Any, resource: Any) -> bool:
    """Is the mark above the token of the write?"""
    try:
        storage.write(resource, 1, "again", lambda: None)
    except Stale:
        return True
    return False


LATE_TIMEOUT = 2.0  # s


@pytest.fixture
def tapped(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Tap, Storage]]:
    """A tap on the wire to a real server, and the client there, which has written two values."""
    engine, system, fencing = request.param
    engine = request.getfixturevalue(engine)
    spec = ServerSpec(name=f"{system}-1", system=system)
    with started(engine, tmp_path, spec) as cluster:
        tap = Tap(system, endpoints(cluster, system))
        load_kind(system).set_up(storage_settings(system, tap.endpoints), ["r0", "r1"])
        with storage_clients(system, tap.endpoints, fencing=fencing, timeout=LATE_TIMEOUT) as open_one:
            storage = open_one()
            storage.write("r0", 1, "of the first", lambda: None)
            storage.write("r1", 2, "of the next", lambda: None)
            yield tap, storage
            tap.answers_pass.set()
        tap.close()


@pytest.mark.parametrize(
    "tapped",
    [
        pytest.param(("local_engine", "etcd", "transaction"), id="gRPC"),
        pytest.param(("docker_engine", "zookeeper", "version-check"), id="ZooKeeper"),
    ],
    indirect=True,
)
def test_a_late_answer_is_not_that_of_the_next_request(tapped: tuple[Tap, Storage]) -> None:
    tap, storage = tapped
    connections = len(tap._wires)
    tap.answers_pass.clear()
    with pytest.raises(Unknown):
        storage.read("r0")
    requests = len(tap.requests)

    with ThreadPoolExecutor() as pool:
        reading = pool.submit(storage.read, "r1")
        assert wait_for(lambda: len(tap.requests) > requests)
        tap.answers_pass.set()

        assert reading.result(PATIENCE) == ("of the next", 2)

    assert len(tap._wires) == connections
