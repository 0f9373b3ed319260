"""Histories of clients that are refused a lock again and again, with ties in time and faults."""

from __future__ import annotations

import random

from checkers.facts.evidence import Evidence
from checkers.history.records import FaultEvent, Op
from tests.support.lock_requests import BREATH, fault, op, run

ENDS = [
    ("release", "ok"),
    ("release", "ok"),
    ("release", "fail"),
    ("release", "info"),
    ("revoke", "ok"),
    ("renew", "fail"),
    ("renew", "ok"),
]
TARGETS = [("lock", "pause"), ("lock:redis-1", "kill"), ("storage", "kill")]


def refused_history(rng: random.Random) -> Evidence:
    """Two or three clients, of which some get the lock: none, one or two faults meanwhile."""
    clients = rng.choice([None, 2, 3])
    operations: list[Op] = []
    horizon = rng.choice([70, 100, 160])
    for client in range(clients or 3):
        now, process = rng.randint(0, 9), client
        is_favoured = rng.random() < 0.4
        while now < horizon:
            if rng.random() < (0.4 if is_favoured else 0.06):
                hold = _hold(rng, process, f"{process}{now}", now)
                now = max(each.called if each.learned is None else each.learned for each in hold)
                operations += hold
                if clients and any(each.returned is None for each in hold):
                    process += clients
            else:
                length = rng.choice([1, 2, 5, 12, 30])
                operations.append(_op(process, "acquire", f"{process}9", now, now + length, "fail"))
                now += length
            now += rng.choice([0, 0, BREATH, BREATH, BREATH + 1, 4])
    return run(*operations, faults=_faults(rng, horizon, clients), clients=clients)


def _hold(rng: random.Random, process: int, owner: str, now: int) -> list[Op]:
    """A grant, or an acquire without an answer; and how it ended, if it did."""
    returned = now + rng.choice([0, 1, 3])
    if rng.random() < 0.15:
        return [_op(process, "acquire", owner, now, returned, "info")]
    attempt = rng.choice([None, rng.randint(now, returned)])
    grant = _op(process, "acquire", owner, now, returned, "ok", attempt=attempt)
    called = returned + rng.choice([0, 1, 4, 9])
    ended = called + rng.choice([0, 1, 3])
    f, outcome = rng.choice(ENDS)
    return [grant, _op(process, f, owner, called, ended, outcome)]


def _op(process: int, f: str, owner: str, called: int, ended: int, outcome: str, **more: object) -> Op:
    return op(f, owner, called, ended, outcome, **{"process": process, "ttl": None, **more})


def _faults(rng: random.Random, horizon: int, clients: int | None) -> list[FaultEvent]:
    targets = [
        *TARGETS,
        *((f"client:{client}", "pause") for client in range(clients or 2)),
        ("client:1", "kill"),
    ]
    events: list[FaultEvent] = []
    for target, kind in rng.sample(targets, rng.choice([0, 0, 1, 2])):
        began = rng.randint(0, horizon)
        events += fault(target, began, rng.choice([None, began, began + 3, began + 20]), kind)
    return sorted(events, key=lambda event: event.time)
