"""The workload run: what a worker records, and a cron that a lock keeps from running a job twice."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from tests.support.systems import Memory
from workloads.client import Grant, NotApplied, NoTokenError, Stale, Unknown
from workloads.client_loop import Client, RecordedLock
from workloads.cron import Cron
from workloads.run import JobWorker, Schedule, Taken

SCHEDULE = Schedule(every=1_000_000, duration=3_000_000)


class Progress:
    """Notes the stop points to which a worker comes."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def waiting(self, queue: str) -> None:
        self.seen.append(("waiting", queue))

    def reached(self, point: str, resource: str, _owner: str, _token: int | None) -> None:
        self.seen.append((point, resource))

    def accepted(self, _resource: str, _token: int | None) -> None:
        pass

    def exited(self) -> None:
        self.seen.append(("left", ""))


@dataclass
class Results:
    """A storage in memory; the next calls raise the given errors."""

    values: dict[str, str] = field(default_factory=dict)
    writes: list[Exception] = field(default_factory=list)
    reads: list[Exception] = field(default_factory=list)

    def write(self, resource: str, _token: Any, value: str, sent: Any) -> None:
        sent()
        if self.writes:
            raise self.writes.pop()
        self.values[resource] = value

    def read(self, resource: str) -> tuple[str | None, int]:
        if self.reads:
            raise self.reads.pop()
        return self.values.get(resource), 1

    def reconnect(self) -> None:
        pass


@dataclass
class OneJob:
    """A queue that gives one job; what it was asked."""

    token: int | None = 1
    refusal: Exception | None = None
    is_executing: bool = True
    completed: list[bool] = field(default_factory=list)  # did it fail?
    reconnected: int = 0

    def take(self, queue: str, owner: str) -> Taken:
        if self.completed:
            raise NotApplied("no more")
        return Taken(job=f"{queue}-0", owner=owner, token=self.token)

    def complete(self, _queue: str, _taken: Taken, *, failed: bool) -> None:
        self.completed.append(failed)
        if self.refusal:
            raise self.refusal

    def reconnect(self) -> None:
        self.reconnected += 1


def client(memory: Memory, storage: Results, *, fenced: bool = False) -> Client:
    return Client(
        number=3,
        think_time=(0, 0),
        rng=random.Random(0),
        session=RecordedSession(memory, process=1, stride=2),
        storage=storage,
        fenced=fenced,
        progress=Progress(),
    )


def worker(memory: Memory, queue: Any, of_storage: Client) -> JobWorker:
    session = RecordedSession(memory, process=0, stride=2)
    return JobWorker(client=of_storage, queue=queue, session=session, queues=["q0"])


def of(memory: Memory, f: str) -> list[dict[str, Any]]:
    return [event for event in memory.events if event["f"] == f]


def test_a_worker_takes_a_job_writes_its_result_and_completes_it() -> None:
    memory, queue, progress = Memory(), OneJob(), Progress()
    of_storage = replace(client(memory, Results()), progress=progress)

    worker(memory, queue, of_storage).run(lambda: bool(queue.completed))

    assert [(event["f"], event["type"], event["process"] % 2) for event in memory.events] == [
        ("take", "invoke", 0),
        ("take", "ok", 0),
        ("execute", "invoke", 0),
        ("heartbeat", "invoke", 1),
        ("heartbeat", "ok", 1),
        ("write", "invoke", 1),
        ("write", "ok", 1),
        ("execute", "ok", 0),
    ]
    assert of(memory, "take")[-1]["job"] == "q0-0"
    execution, result = of(memory, "execute")[-1], of(memory, "write")[-1]
    assert (execution["resource"], execution["job"], execution["owner"]) == ("q0", "q0-0", "3-1")
    assert (result["resource"], result["token"], execution["token"]) == ("q0-0", 1, 1)
    assert result["time"] <= execution["ended"] <= execution["time"]
    assert queue.completed == [False]
    assert progress.seen == [
        ("waiting", "q0"),
        ("acquired", "q0-0"),
        ("before-write", "q0-0"),
        ("write-sent", "q0-0"),
        ("before-release", "q0-0"),
        ("left", ""),
    ]


@pytest.mark.parametrize(
    ("refusal", "outcome"), [(NotApplied("lock mismatch"), "fail"), (Unknown("no answer"), "info")]
)
def test_the_queue_decides_how_an_execution_ends(refusal: Exception, outcome: str) -> None:
    memory, queue = Memory(), OneJob(refusal=refusal)

    worker(memory, queue, client(memory, Results())).run(lambda: bool(queue.completed))

    last = of(memory, "execute")[-1]
    assert (last["type"], last["error"], "ended" in last) == (outcome, str(refusal), True)
    assert queue.reconnected == (outcome == "info")


@pytest.mark.parametrize("error", [Stale(), Unknown("no answer")])
def test_a_job_whose_result_was_not_written_fails(error: Exception) -> None:
    memory, queue = Memory(), OneJob()

    worker(memory, queue, client(memory, Results(writes=[error]))).run(lambda: bool(queue.completed))

    last = of(memory, "execute")[-1]
    assert (last["type"], last["error"]) == ("fail", f"its result was not written: {error}")
    assert queue.completed == [True]


def test_nobody_saw_when_a_job_ended_whose_program_is_gone() -> None:
    memory, queue = Memory(), OneJob(refusal=Unknown("the program ended"), is_executing=False)

    worker(memory, queue, client(memory, Results())).run(lambda: bool(queue.completed))

    last = of(memory, "execute")[-1]
    assert (last["type"], "ended" in last) == ("info", False)
    assert [event["type"] for event in of(memory, "heartbeat")] == ["invoke", "fail"]


def test_a_fence_ends_the_worker_of_a_queue_without_attempts() -> None:
    memory = Memory()

    with pytest.raises(NoTokenError):
        worker(memory, OneJob(token=None), client(memory, Results(), fenced=True)).run(lambda: False)


@dataclass
class OneLock:
    """A lock in memory, whose tokens rise; the next acquires raise the given errors."""

    token: int = 0
    errors: list[Exception] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)

    def acquire(self, _resource: str, owner: str) -> Grant:
        if self.errors:
            raise self.errors.pop()
        self.held.append(owner)
        self.token += 1
        return Grant(token=self.token, ttl=None, attempt=None)

    def release(self, _resource: str, owner: str) -> None:
        if owner not in self.held:
            raise NotApplied("not the holder")
        self.held.remove(owner)

    def revoke(self, _resource: str, owner: str) -> None:
        self.revoked.append(owner)

    def reconnect(self) -> None:
        pass


def cron(lock: OneLock, of_storage: Client, stopping: Any) -> Cron:
    unrecorded = RecordedSession(Memory(), process=0, stride=1)
    started = time.monotonic_ns()
    return Cron(
        lock=RecordedLock(lock, unrecorded),
        client=of_storage,
        schedule=SCHEDULE,
        started=lambda: started,
        stopping=stopping,
    )


def test_a_cron_runs_each_job_once_in_the_order_in_which_they_are_due() -> None:
    memory, lock, storage = Memory(), OneLock(), Results()
    of_storage = client(memory, storage)
    queue = cron(lock, of_storage, lambda: len(storage.values) == 3)

    worker(memory, queue, of_storage).run(lambda: len(storage.values) == 3)

    executed = [event for event in of(memory, "execute") if event["type"] == "ok"]
    assert [event["job"] for event in executed] == ["q0-0", "q0-1", "q0-2"]
    assert sorted({event["token"] for event in executed}) == [event["token"] for event in executed]
    assert len({event["owner"] for event in executed}) == 3
    assert lock.held == []


def test_a_job_with_a_result_is_not_run_again() -> None:
    memory, lock, storage = Memory(), OneLock(), Results(values={"q0-0": "of another", "q0-1": "of another"})
    of_storage = client(memory, storage)
    queue = cron(lock, of_storage, lambda: len(storage.values) == 3)

    worker(memory, queue, of_storage).run(lambda: len(storage.values) == 3)

    assert [event["job"] for event in of(memory, "execute") if event["type"] == "ok"] == ["q0-2"]


def test_a_lock_or_storage_that_does_not_answer_ends_no_take() -> None:
    memory, storage = Memory(), Results(reads=[Unknown("no answer"), NotApplied("not connected")])
    lock = OneLock(errors=[Unknown("no answer"), NotApplied("not free in time")])
    of_storage = client(memory, storage)

    worker(memory, cron(lock, of_storage, lambda: False), of_storage).run(lambda: bool(storage.values))

    assert [event["type"] for event in of(memory, "take")] == ["invoke", "ok"]
    assert lock.revoked == ["3-1.2"]
    assert lock.held == []


def test_the_end_of_a_job_does_not_depend_on_the_release_of_its_lock() -> None:
    memory, lock, storage = Memory(), OneLock(), Results()
    of_storage = client(memory, storage)

    def is_lost() -> bool:
        lock.held.clear()
        return bool(storage.values)

    worker(memory, cron(lock, of_storage, is_lost), of_storage).run(lambda: bool(storage.values))

    assert of(memory, "execute")[-1]["type"] == "ok"


def test_a_worker_that_waits_stops_asking_when_the_run_is_over() -> None:
    memory, lock = Memory(), OneLock()
    of_storage = client(memory, Results(values={f"q0-{number}": "done" for number in range(3)}))
    queue = cron(lock, of_storage, lambda: lock.token > 0)

    worker(memory, queue, of_storage).run(lambda: lock.token > 0)

    assert [(event["f"], event["type"]) for event in memory.events if event["f"] == "take"] == [
        ("take", "invoke"),
        ("take", "fail"),
    ]


def test_the_first_client_submits_every_job_with_its_moment() -> None:
    memory = Memory()
    of_storage = client(memory, Results())

    worker(memory, cron(OneLock(), of_storage, lambda: True), of_storage).submit(SCHEDULE, 7)

    submitted = [(event["job"], event["due"]) for event in of(memory, "submit") if event["type"] == "ok"]
    assert submitted == [("q0-0", 7), ("q0-1", 1_000_007), ("q0-2", 2_000_007)]
