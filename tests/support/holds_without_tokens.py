"""Histories of a lock without tokens and an unfenced storage, with its own order of accepted writes."""

from __future__ import annotations

import random
from dataclasses import replace

from checkers.history.records import Commit, Op, Outcome
from tests.support.brute_force import renumbered


def tokenless_history(rng: random.Random) -> tuple[tuple[Op, ...], list[Commit]]:
    """Clients that are granted the lock again and again, at any times, and a storage that accepts all."""
    operations: list[Op] = []
    effects: list[tuple[float, Op]] = []
    horizon = rng.choice([8, 16, 30])
    for client in range(rng.randint(2, 4)):
        now, process = rng.randint(0, horizon // 2), client
        for hold in range(rng.randint(1, 3)):
            owner = f"{client}" if rng.random() < 0.15 else f"{client}-{hold}"
            resource = rng.choice(["r0", "r0", "r0", "r1"])
            for f in ["acquire", *rng.choices(["write", "write", "read"], k=rng.randint(1, 3))]:
                called = now + rng.choice([0, 0, 1, 3])
                learned = called + rng.choice([0, 1, 1, 2, 5])
                now = learned + rng.choice([0, 0, 1])
                outcome = Outcome.OK
                if f == "write":
                    outcome = rng.choice([Outcome.OK] * 6 + [Outcome.INFO, Outcome.INFO, Outcome.FAIL])
                elif f == "acquire":
                    outcome = rng.choice([Outcome.OK] * 9 + [Outcome.INFO])
                is_granted = f == "acquire" and outcome is Outcome.OK
                op = Op(
                    index=len(operations),
                    process=process,
                    f=f,
                    resource=resource,
                    called=called,
                    returned=None if outcome is Outcome.INFO else learned,
                    learned=learned,
                    outcome=outcome,
                    owner=None if f == "read" else owner,
                    token=7 if is_granted and rng.random() < 0.05 else None,
                    value=f"v{len(operations)}" if f == "write" else None,
                    attempt=rng.choice([None, rng.randint(called, learned)]) if is_granted else None,
                )
                operations.append(op)
                late = rng.choice([0, 0, 4, 9]) if outcome is Outcome.INFO else 0
                effects.append((rng.uniform(called, learned) + late, op))
                process += 10 * (outcome is Outcome.INFO)
    return _answered(rng, operations, effects)


def _answered(
    rng: random.Random, operations: list[Op], effects: list[tuple[float, Op]]
) -> tuple[tuple[Op, ...], list[Commit]]:
    """The reads' answers, and the log of what took effect."""
    held: dict[str, str | None] = {}
    log: list[Commit] = []
    by_index = {op.index: op for op in operations}
    for _, op in sorted(effects, key=lambda each: (each[0], each[1].index)):
        if op.f == "read":
            by_index[op.index] = replace(op, value=held.get(op.resource))
        elif op.f == "write" and (
            op.outcome is Outcome.OK or (op.outcome is Outcome.INFO and rng.random() < 0.7)
        ):
            held[op.resource] = str(op.value)
            log.append(Commit(seq=len(log) + 1, resource=op.resource, token=None, value=op.value))
    ordered = renumbered(tuple(by_index.values()))
    return tuple(replace(op, lines=(2 * op.index + 2, 2 * op.index + 3)) for op in ordered), log
