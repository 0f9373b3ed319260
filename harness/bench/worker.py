"""A client of a bench: one process, with the same lock and storage clients as a client of a run."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from checkers.history.records import Outcome
from checkers.text.redaction import redacted
from harness.bench.latencies import Latencies
from harness.bench.orders import (
    BLOCKS,
    AcquireOnce,
    ClientOfBench,
    LockedWrites,
    LockLoop,
    Measured,
    Order,
    ReleaseOnce,
    Window,
    WriteLoop,
    WriteRounds,
    Writing,
)
from harness.files import logs
from harness.processes.die_with_parent import die_with_parent
from workloads import storages
from workloads.client import Answer, outcome_of
from workloads.client_loop import Client, HeldLock, RecordedLock
from workloads.locks import connect as connect_lock

TOKEN = 1
"""Of every write: a storage that compares tokens, and takes one again, refuses none."""


class TimedSession:
    """Times operations instead of recording them: implements `workloads.client.Session`."""

    def __init__(self, passwords: tuple[str, ...]) -> None:
        self._passwords = passwords
        self.begin(Window(begins=0, ends=1))

    def begin(self, window: Window) -> None:
        """Forget what was measured, and measure in this window from now on."""
        self.window = window
        self.latencies: dict[str, Latencies] = {}
        self.due: int | None = None  # ns; when the next operation was due, if not when it is called
        self.last = 0  # ns; the latency of the last one

    def of(self, f: str) -> Latencies:
        """Return those of one operation."""
        return self.latencies.setdefault(f, Latencies(blocks=[0] * BLOCKS))

    def call(
        self,
        f: str,
        resource: str,  # noqa: ARG002 - as in the protocol
        action: Callable[[], dict[str, Any]],
        known: Mapping[str, Any] = MappingProxyType({}),  # noqa: ARG002 - as above
        **_fields: Any,
    ) -> Answer:
        """Run `action`, and time it."""
        measured = self.of(f)
        called, self.due = self.due or time.monotonic_ns(), None
        try:
            answer = Answer(Outcome.OK, action())
        except Exception as error:  # noqa: BLE001 - any error of a client is an outcome
            answer = Answer(outcome_of(error), {"error": str(error)})
            measured.error = measured.error or redacted(" ".join(str(error).split()), self._passwords)
        returned = time.monotonic_ns()
        self.last = returned - called
        if answer.ok:
            measured.add(self.last)
            if (block := self.window.block(returned)) < BLOCKS:
                measured.blocks[block] += 1
        elif answer.outcome is Outcome.FAIL:
            measured.failed += 1
        else:
            measured.unknown += 1
        return answer

    def granted(self, resource: str, owner: str) -> None:
        """Go on: nothing stops a client of a bench."""


class _NoProgress:
    """Receives the progress of a client that no fault waits for."""

    def waiting(self, resource: str) -> None:
        pass

    def reached(self, point: str, resource: str, owner: str, token: int | None) -> None:
        pass

    def accepted(self, resource: str, token: int | None) -> None:
        pass

    def exited(self) -> None:
        pass


@dataclass
class BenchClient:
    """One client, with its connections."""

    task: ClientOfBench
    session: TimedSession = field(init=False)
    renewals: TimedSession = field(init=False)
    _writers: dict[Writing, Client] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the sessions."""
        passwords = (self.task.lock.password, self.task.storage.password)
        self.session, self.renewals = TimedSession(passwords), TimedSession(passwords)
        self.rng = random.Random(self.task.number)

    @cached_property
    def lock(self) -> RecordedLock:
        """The client of the lock."""
        return RecordedLock(connect_lock(self.task.lock, self.renewals), self.session)

    @cached_property
    def storage(self) -> Any:
        """The client of the storage; those of all ways to write share its connection, if they can."""
        return storages.load_kind(self.task.storage.kind).connect(self.task.storage)

    @property
    def repeats_token(self) -> bool:
        """Is a token taken again? A service or a class of the user may be strict all the same."""
        return self.task.storage.kind in storages.WITH_SHARED_CONNECTION

    def writer(self, writing: Writing) -> Client:
        """Return the client that writes in this way."""
        if writing not in self._writers:
            settings = replace(self.task.storage, fencing=writing.fencing, logged=writing.logged)
            self._writers[writing] = Client(
                number=self.task.number,
                think_time=(0, 0),
                rng=self.rng,
                session=self.session,
                storage=self.storage if settings == self.task.storage else self.storage.sharing(settings),
                fenced=writing.fencing != "none",
                progress=_NoProgress(),
            )
        return self._writers[writing]

    def write(self, writing: Writing, held: HeldLock) -> Answer:
        """Write once."""
        client = self.writer(writing)
        return client.fence(held, TOKEN) if writing.raises_mark else client.write_value(held, held.owner)

    def carry_out(self, order: Order) -> Measured:
        """Do what is asked."""
        self.session.begin(order.window)
        self.renewals.begin(order.window)
        match order:
            case LockLoop():
                self._cycles(order)
            case WriteLoop():
                self._writes(order)
            case WriteRounds():
                return self._rounds(order)
            case AcquireOnce():
                return self._acquire(order)
            case ReleaseOnce():
                return self._release(order)
            case LockedWrites():
                return self._locked_writes(order)
        return Measured(latencies={**self.renewals.latencies, **self.session.latencies})

    def _cycles(self, order: LockLoop) -> None:
        owner, nth = f"{self.task.number}", 0
        for nth, due in enumerate(order.window.moments(), 1):  # noqa: B007 - it is how many there were
            resource = self.rng.choice(order.resources)
            self.session.due = due
            if self.lock.acquire(resource, owner).ok:
                self.lock.release(resource, owner)
        self._add_unsent("acquire", nth)

    def _writes(self, order: WriteLoop) -> None:
        held, nth = HeldLock(order.resource, f"{self.task.number}", TOKEN), 0
        self.writer(order.writing)
        for nth, due in enumerate(order.window.moments(), 1):  # noqa: B007 - as above
            self.session.due = due
            self.write(order.writing, held if self.repeats_token else replace(held, token=due))
        self._add_unsent("write", nth)

    def _add_unsent(self, f: str, sent: int) -> None:
        self.session.of(f).unsent += self.session.window.unsent(sent)

    def _rounds(self, order: WriteRounds) -> Measured:
        owner, ways = f"{self.task.number}", range(len(order.writings))
        held, moments = HeldLock(order.resource, owner, TOKEN), order.window.moments()
        for _ in itertools.islice(moments, order.keeps_lock):
            held = replace(held, token=self.lock.acquire(order.resource, owner).fields.get("token"))
        for _ in itertools.islice(moments, 1):  # the connection opens, and plans are made
            for writing in order.writings:
                self.write(writing, held)
        self.session.begin(order.window)
        rounds: list[list[tuple[int, int]]] = []
        for _ in moments:
            taken = [(0, 0)] * len(ways)
            for way in self.rng.sample(ways, len(ways)):
                begun = time.thread_time_ns()
                if self.write(order.writings[way], held).ok:
                    taken[way] = (self.session.last, time.thread_time_ns() - begun)
            if all(latency for latency, _ in taken):
                rounds.append(taken)
        if order.keeps_lock:
            order.window.wait()
            self.lock.release(order.resource, owner)
        found = np.array(rounds, dtype=np.int64).reshape(-1, len(ways), 2)
        return Measured(latencies=self.session.latencies, rounds=found)

    def _acquire(self, order: AcquireOnce) -> Measured:
        answer = self.lock.acquire(order.resource, f"{self.task.number}")
        moments = {"granted": time.monotonic_ns()} if answer.ok else {}
        return Measured(latencies=self.session.latencies, moments=moments)

    def _release(self, order: ReleaseOnce) -> Measured:
        called = time.monotonic_ns()
        self.lock.release(order.resource, f"{self.task.number}")
        return Measured(latencies=self.session.latencies, moments={"released": called})

    def _locked_writes(self, order: LockedWrites) -> Measured:
        owner, sent = f"{self.task.number}", []
        held: HeldLock | None = None
        for _ in order.window.moments():
            if held is None:
                grant = self.lock.acquire(order.resource, owner)
                if not grant.ok:
                    continue
                held = HeldLock(order.resource, owner, grant.fields["token"])
                if order.keeps_lock:
                    continue
            if "renew" in self.renewals.latencies and self.renewals.of("renew").failed:
                break
            sent.append(time.monotonic_ns())
            self.write(order.writing, held)
            if not order.keeps_lock:
                self.lock.release(order.resource, owner)
                held = None
        learned = time.monotonic_ns()
        if held is not None:
            order.window.wait()
            self.lock.release(order.resource, owner)
        found = {**self.renewals.latencies, **self.session.latencies}
        return Measured(latencies=found, moments={"learned": learned}, sent=tuple(sent))


def main(log: Path, orders: Connection) -> None:
    """Carry out orders until there is no one left who gives any."""
    die_with_parent()
    logs.take_output(log)
    with suppress(EOFError):
        client = BenchClient(orders.recv())
        while True:
            orders.send(client.carry_out(orders.recv()))
