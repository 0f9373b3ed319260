"""Simulated queues of jobs, with a simulated clock: workers are killed, stopped and cut off, and answers get lost.

Three kinds keep their promise: `leased` gives a job to another worker when its lease is over, and its workers
renew it; `once` forgets a job as soon as a worker has it; `cron` has a lease that nobody renews, and runs no job
again that is known to be done.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from checkers.history.records import History
from tests.support.job_events import QUEUE, Event, history

TTL, GRACE = 100, 200
_BEAT = 20  # between two heartbeats
_POLL = 700  # that a queue lets a worker wait for a job
_PATIENCE = 60  # that a worker waits for an answer
SLOWEST = 5  # that a message takes
_SHORT, _LONG = (5, 30), (40, 350)  # how long a queue is down, and how long a worker is stopped or cut off
_CLIENTS = 4  # the first one submits
_SUBMITTED_UNTIL, _END = 2_000, 3_500

Reply = Callable[[Any], None]
Steps = Generator[int | tuple[int, Callable[[Reply], None]], Any, None]
"""The steps of a client: a time to wait, or a request with the patience for its answer."""


@dataclass(slots=True)
class _Job:
    due: int
    state: str = "ready"  # held done
    attempt: int = 0
    until: int = 0  # the end of its lease
    worker: int = 0


@dataclass(kw_only=True)
class QueueRun:
    """One run; `history()` is its history."""

    seed: int
    kind: str
    faults: tuple[str, ...] = ("kill", "restart")  # also pause, partition
    bug: str = ""  # forgets repeats
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = 0
        self._rng = random.Random(f"{self.kind} {self.seed}")
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._numbers = {client: itertools.count(client, _CLIENTS) for client in range(_CLIENTS)}
        self._jobs: dict[str, _Job] = {}
        self._waiting: list[tuple[int, Reply]] = []  # workers, and how to answer them
        self._open: dict[int, Event] = {}  # by client
        self._away: dict[str, int] = {}  # who is stopped or cut off, or `queue`, and until when
        self._dead: set[int] = set()
        self._resume(0, self._submitter())
        for worker in range(1, _CLIENTS):
            self._resume(worker, self._worker(worker))
        for kind in self.faults:
            for _ in range(self._rng.randint(0, 1 if kind == "kill" else 4)):
                self._at(self._rng.randint(1, _SUBMITTED_UNTIL), partial(self._fault, kind))
        while self._queue:
            self.now, _, step = heapq.heappop(self._queue)
            step()

    def history(self) -> History:
        return history(self.events, ttl=TTL, grace=GRACE, clients=_CLIENTS)

    def _at(self, time: int, step: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (time, next(self._order), step))

    def _is_away(self, who: str) -> bool:
        return self._away.get(who, 0) > self.now

    # clients

    def _resume(self, client: int, steps: Steps, answer: Any = None) -> None:
        """Go on with a client, once it is not stopped any more."""
        if client in self._dead:
            return
        if self._is_away(f"stopped {client}"):
            self._at(self._away[f"stopped {client}"], lambda: self._resume(client, steps, answer))
            return
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        if isinstance(step, int):
            self._at(self.now + step, lambda: self._resume(client, steps))
        else:
            self._request(client, steps, *step)

    def _request(self, client: int, steps: Steps, patience: int, ask: Callable[[Reply], None]) -> None:
        """Send a request; without an answer in time, the client goes on with None."""
        answered: list[bool] = []

        def answer(value: Any) -> None:
            if not answered:
                answered.append(True)
                self._resume(client, steps, value)

        self._at(self.now + patience, lambda: answer(None))
        self._send(client, lambda: ask(lambda value: self._send(client, lambda: answer(value))))

    def _send(self, client: int, arrive: Callable[[], None], *, safely: bool = False) -> None:
        """Carry a message between a client and the queue, unless it gets lost."""
        is_lost = self._is_away(f"cut off {client}") or (not safely and self._rng.random() < 0.03)
        if not is_lost:
            self._at(self.now + self._rng.randint(0, SLOWEST), arrive)

    def _invoke(self, client: int, process: int, f: str, **fields: Any) -> None:
        self._open[client] = {"process": process, "f": f, "resource": QUEUE, **fields}
        self.events.append({"time": self.now, "type": "invoke", **self._open[client]})

    def _end(self, client: int, outcome: str, **answer: Any) -> None:
        self.events.append({"time": self.now, "type": outcome, **self._open.pop(client), **answer})

    def _submitter(self) -> Steps:
        process = next(self._numbers[0])
        for number in itertools.count():
            yield self._rng.randint(1, 200)
            if self.now > _SUBMITTED_UNTIL:
                return
            job, due = f"{QUEUE}-{number}", self.now + self._rng.randint(0, 150)
            self._invoke(0, process, "submit", job=job, due=due)
            if (yield _PATIENCE, partial(self._submitted, job, due)):
                self._end(0, "ok")
            else:
                self._end(0, "info")
                process = next(self._numbers[0])

    def _worker(self, worker: int) -> Steps:
        process, beats = next(self._numbers[worker]), next(self._numbers[worker])
        while self.now < _END:
            self._invoke(worker, process, "take")
            given = yield _POLL + 2 * _PATIENCE, partial(self._taken, worker)
            if given is None:
                self._end(worker, "info")
                process = next(self._numbers[worker])
                continue
            if given == "nothing":
                self._end(worker, "fail")
                yield self._rng.randint(1, 10)
                continue
            job, attempt = given
            self._end(worker, "ok", job=job)
            owner = f"{worker}-{job}-{attempt}"
            self._invoke(worker, process, "execute", job=job, owner=owner, token=attempt)
            self._beat(worker, beats, owner, job, attempt)
            yield self._rng.randint(1, 50 if self.kind == "cron" else 150)
            ended, is_good = self.now, self._rng.random() < 0.9
            self._open[worker]["ended"] = ended
            done = yield _PATIENCE, partial(self._completed, job, attempt, is_good)
            if done is None:
                del self._open[worker]["ended"]
                self._end(worker, "info")
                process = next(self._numbers[worker])
            else:
                self._end(worker, "ok" if done and is_good else "fail")
            yield self._rng.randint(1, 10)

    def _beat(self, worker: int, process: int, owner: str, job: str, attempt: int) -> None:
        """Report that a program executes, and renew the lease of its job."""
        own = self._open.get(worker, {})
        if worker in self._dead or own.get("owner") != owner or "ended" in own:
            return
        again = self.now + _BEAT
        if self._is_away(f"stopped {worker}"):
            again = self._away[f"stopped {worker}"]
        else:
            event = {
                "time": self.now,
                "process": process,
                "f": "heartbeat",
                "resource": QUEUE,
                "owner": owner,
            }
            self.events += [event | {"type": "invoke"}, event | {"type": "ok"}]
            if self.kind == "leased":
                self._send(worker, lambda: self._renewed(job, attempt), safely=True)
        self._at(again, lambda: self._beat(worker, process, owner, job, attempt))

    # the queue

    def _submitted(self, job: str, due: int, reply: Reply) -> None:
        if not self._is_away("queue"):
            self._jobs[job] = _Job(due)
            self._at(max(due, self.now), self._dispatch)
            reply(True)

    def _taken(self, worker: int, reply: Reply) -> None:
        if self._is_away("queue"):
            return
        place = worker, reply
        self._waiting.append(place)
        self._at(self.now + _POLL, lambda: self._give_up(place))
        self._dispatch()

    def _give_up(self, place: tuple[int, Reply]) -> None:
        if place in self._waiting:
            self._waiting.remove(place)
            place[1]("nothing")

    def _dispatch(self) -> None:
        """Give every job that may begin to a worker that waits."""
        for name, job in self._jobs.items():
            if job.state != "ready" or job.due > self.now or not self._waiting or self._is_away("queue"):
                continue
            if self.bug == "forgets" and self._rng.random() < 0.2:
                job.state = "done"
                continue
            job.worker, reply = self._waiting.pop(0)
            job.attempt += 1
            job.state = "done" if self.kind == "once" else "held"
            self._lease(job)
            reply((name, job.attempt))

    def _lease(self, job: _Job) -> None:
        job.until = self.now + TTL
        self._at(job.until, lambda: self._expire(job, job.until))

    def _expire(self, job: _Job, until: int) -> None:
        if job.state == "held" and job.until <= min(until, self.now):
            job.state = "ready"
            self._dispatch()

    def _renewed(self, name: str, attempt: int) -> None:
        job = self._jobs[name]
        if job.state == "held" and job.attempt == attempt and not self._is_away("queue"):
            self._lease(job)

    def _completed(self, name: str, attempt: int, is_good: bool, reply: Reply) -> None:
        if self._is_away("queue"):
            return
        job = self._jobs[name]
        is_current = job.state == "held" and job.attempt == attempt
        if is_current or (self.kind == "cron" and is_good):
            job.state = "done" if is_good else "ready"
            self._dispatch()
        if self.bug == "repeats" and is_good and self._rng.random() < 0.2:
            self._at(self.now + self._rng.randint(10, 60), lambda: self._again(job))
        reply(is_current or self.kind != "leased")

    def _again(self, job: _Job) -> None:
        job.state = "ready"
        self._dispatch()

    # faults

    def _fault(self, kind: str) -> None:
        worker = self._rng.choice([each for each in range(1, _CLIENTS) if each not in self._dead])
        if kind == "kill":
            self._kill(worker)
            return
        who, target = {
            "restart": ("queue", "queue"),
            "pause": (f"stopped {worker}", f"client:{worker}"),
            "partition": (f"cut off {worker}", f"client:{worker}"),
        }[kind]
        if self._is_away(who):
            return
        until = self.now + self._rng.randint(*(_SHORT if kind == "restart" else _LONG))
        self._away[who] = until
        self._seen(kind, target, "in force")
        self._at(until, lambda: self._seen(kind, target, "healed"))
        if kind == "restart":
            self._waiting.clear()
            self._at(until, self._dispatch)

    def _kill(self, worker: int) -> None:
        """End a worker; the queue may notice it before the harness has seen it."""
        self._dead.add(worker)
        self._waiting = [(each, reply) for each, reply in self._waiting if each != worker]
        if self.kind == "leased" and self._rng.random() < 0.5:
            for job in self._jobs.values():
                if job.state == "held" and job.worker == worker:
                    job.state = "ready"
            self._at(self.now + 1, self._dispatch)
        self._at(self.now + self._rng.randint(0, 20), lambda: self._seen_dead(worker))

    def _seen_dead(self, worker: int) -> None:
        if (own := self._open.get(worker)) is not None:
            own.pop("ended", None)
            self._end(worker, "info", **({"ended": self.now} if own["f"] == "execute" else {}))
        self._seen("kill", f"client:{worker}", "in force")

    def _seen(self, kind: str, target: str, state: str) -> None:
        value = {"target": target, "state": state, "evidence": "seen"}
        self.events.append(
            {"time": self.now, "process": "nemesis", "type": "info", "f": kind, "value": value}
        )
