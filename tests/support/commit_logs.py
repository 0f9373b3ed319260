"""Commit logs of small histories, correct and wrong."""

from __future__ import annotations

import random
from typing import Any

from checkers.history.records import Commit, Op, Outcome, Value
from tests.support.brute_force import INITIAL


def committed(writes: list[Op]) -> list[Commit]:
    return log(*((write.token or 0, write.value) for write in writes))


def explained(
    operations: tuple[Op, ...], log: list[Op], *, strict: bool, fenced: bool, start: int = INITIAL[1]
) -> bool:
    """Is there an order in which exactly the log's writes take effect, in the log's order?

    `start` is the token before the run.
    """
    values = [write.value for write in log]
    writes = [op for op in operations if op.f == "write"]
    if len(set(values)) < len(values) or any(
        (op.outcome is Outcome.OK) > (op.value in values)
        or (op.outcome is Outcome.FAIL and op.value in values)
        for op in writes
    ):
        return False
    rejected = [op for op in writes if fenced and op.error == "stale"]
    reads = [op for op in operations if op.f == "read"]
    must = [*log, *rejected, *reads]
    seen = set()

    def search(done: frozenset[int], state: tuple[Any, ...], place: int) -> bool:
        if len(done) == len(must):
            return True
        if done in seen:
            return False
        seen.add(done)
        for i, op in enumerate(must):
            if i in done or any(must[j].precedes(op) for j in range(len(must)) if j not in done):
                continue
            accepts = op.token > state[1] or (not strict and op.token == state[1])
            if op.f == "read":
                fits, after, at = (op.value, op.token) == state, state, place
            elif op in rejected:
                fits, after, at = not accepts, state, place
            else:
                fits, after, at = accepts and log[place] is op, (op.value, op.token), place + 1
            if fits and search(done | {i}, after, at):
                return True
        return False

    return search(frozenset(), (INITIAL[0], start), 0)


def random_log(rng: random.Random, operations: tuple[Op, ...]) -> list[Op]:
    """Mostly the effective writes in the order that a fence enforces; occasionally something wrong."""
    log = [
        op
        for op in operations
        if op.f == "write"
        and (op.outcome is Outcome.OK or (op.outcome is Outcome.INFO and rng.random() < 0.6))
    ]
    if rng.random() < 0.8:
        log.sort(key=lambda op: (op.token, rng.random()))
    else:
        rng.shuffle(log)
    if log and rng.random() < 0.05:
        log.pop()
    if log and rng.random() < 0.05:
        log.append(rng.choice(log))
    return log


def log(*entries: tuple[int | None, Value]) -> list[Commit]:
    """Commits in their order; one without a value is a fence."""
    return [
        Commit(seq=seq, resource="r0", token=token, value=value, fence=value is None)
        for seq, (token, value) in enumerate(entries, start=1)
    ]
