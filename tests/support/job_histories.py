"""Random small histories of one queue: what its clients may have recorded, right or wrong, with ties in time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from checkers.history.records import FaultEvent, Header, History, Op, Outcome

TTL, GRACE, CLIENTS = 3, 4, 4
_END = 40  # ns
_JOBS = ("a", "b", "c")


def random_job_history(rng: random.Random) -> History:
    """Workers that take, execute and beat as they will, under faults of all kinds."""
    jobs = _JOBS[: rng.randint(1, 3)]
    operations = [*_submits(rng, jobs), *_executions(rng, jobs), *_takes(rng, jobs)]
    operations.sort(key=lambda op: op.called)
    return History(
        header=Header(target="t", ttl=TTL, grace=GRACE, clients=rng.choice([CLIENTS, CLIENTS, None])),
        operations=tuple(
            replace(op, index=index, lines=(2 * index + 2, 2 * index + 3))
            for index, op in enumerate(operations)
        ),
        faults=tuple(sorted(_faults(rng), key=lambda event: event.time)),
    )


def _op(rng: random.Random, f: str, process: int, called: int, longest: int, outcome: Outcome) -> Op:
    end = rng.randint(called, called + longest)
    return Op(
        index=0,
        process=process,
        f=f,
        resource="q0",
        called=called,
        returned=None if outcome is Outcome.INFO else end,
        learned=None if outcome is Outcome.INFO and rng.random() < 0.3 else end,
        outcome=outcome,
    )


def _submits(rng: random.Random, jobs: tuple[str, ...]) -> Iterator[Op]:
    for job in jobs:
        outcome = rng.choice([Outcome.OK, Outcome.OK, Outcome.OK, Outcome.INFO, Outcome.FAIL])
        op = _op(rng, "submit", 0, rng.randrange(_END // 2), 2, outcome)
        yield replace(op, job=job, due=rng.randrange(_END // 2))


def _executions(rng: random.Random, jobs: tuple[str, ...]) -> Iterator[Op]:
    for nth in range(rng.choice([0, 1, 2, 3, 6])):
        worker, owner = rng.randrange(CLIENTS), f"owner {nth}"
        op = _op(rng, "execute", worker, rng.randrange(_END // 2), 8, rng.choice(list(Outcome)))
        last = op.called + 8 if op.learned is None else op.learned
        ended = rng.choice([None, rng.randint(op.called, last)])
        if op.outcome is Outcome.OK:
            ended = rng.randint(op.called, last)
        yield replace(op, job=rng.choice(jobs), owner=owner, ended=ended)
        for _ in range(rng.choice([0, 0, 1, 2])):
            outcome = rng.choice([Outcome.OK, Outcome.OK, Outcome.INFO])
            beat = _op(rng, "heartbeat", worker + CLIENTS, rng.randint(op.called, last + 2), 1, outcome)
            yield replace(beat, owner=owner)


def _takes(rng: random.Random, jobs: tuple[str, ...]) -> Iterator[Op]:
    for _ in range(rng.choice([1, 1, 2, 4])):
        outcome = rng.choice([Outcome.FAIL, Outcome.FAIL, Outcome.FAIL, Outcome.OK, Outcome.INFO])
        op = _op(rng, "take", rng.randrange(CLIENTS), rng.randrange(_END // 2), _END, outcome)
        yield replace(op, job=rng.choice([*jobs, "another"])) if outcome is Outcome.OK else op


def _faults(rng: random.Random) -> Iterator[FaultEvent]:
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        kind, target = rng.choice(
            [
                *(("pause", "client:0"), ("pause", "client:1"), ("kill", "client:2"), ("stop", "client:3")),
                *(("restart", "queue"), ("kill", "lock:1"), ("pause", "storage")),
            ]
        )
        began = rng.randrange(_END)
        yield FaultEvent(time=began, kind=kind, target=target, state="in force", evidence="")
        if rng.random() < 0.9 and not (kind == "kill" and target.startswith("client")):
            time = rng.randint(began, began + 6)
            yield FaultEvent(time=time, kind=kind, target=target, state="healed", evidence="")
