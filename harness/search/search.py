"""The search for a violation: run a target with other seeds, and with changed plans of the closest runs."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from checkers.history.faults import faults_of
from checkers.vocabulary.document import VerdictDocument
from harness.core.events import RunJudged
from harness.engines.engine import Engine
from harness.nemesis.plan import PlannedFault
from harness.run.run_to_verdict import to_verdict
from harness.run.runner import SEEDS, RunOptions
from harness.search.behaviors import Behaviors
from harness.spec import Target
from harness.spec.hazards import plan_of
from harness.spec.reading import of_seed

_CHANGED = 0.5  # of the runs repeat a plan with changed moments, if there is one with moments
_FARTHEST = 0.1  # of the run; standard deviation of a change
_KEPT = 5  # plans that are changed: those of the closest runs


STEPS = (
    ("pauses_past_lease", "a pause outlived a lease"),
    ("grants_to_others", "another client was granted the lock meanwhile"),
    ("late_writes_attempted", "a superseded holder wrote"),
    ("stale_writes_attempted", "a stale write was attempted"),
)
"""The way to a stale write: counts of the coverage, each with what it means; a later one is closer."""

Closeness = tuple[int, int]
"""How many of the steps, and how often the last of them; larger is closer."""

VIOLATED = (len(STEPS) + 1, 0)


def closeness(document: VerdictDocument) -> Closeness:
    """Return how close a run came."""
    if document.verdict == "invalid":
        return VIOLATED
    reached = [number for number, (name, _) in enumerate(STEPS, start=1) if document.coverage.get(name)]
    last = max(reached, default=0)
    return last, document.coverage[STEPS[last - 1][0]] if last else 0


def described(close: Closeness) -> str:
    """Say how close that is."""
    steps, times = close
    if close == VIOLATED:
        return "a violation"
    return f"{STEPS[steps - 1][1]} (×{times:,})" if steps else "no lease was in danger"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One run of the search."""

    number: int  # from 1
    seed: int
    changed: bool  # was its plan that of an earlier run, with other moments?
    judged: RunJudged
    closeness: Closeness
    best: Closeness  # of all runs so far
    new: int  # behaviors that no earlier run had shown
    left: float | None  # an estimate of the behaviors that no run has shown; None after few runs
    seen: str  # in all runs so far, and what is likely to be left
    dried_up: bool  # is a further run unlikely to show anything new?


def search(target: Target, engine: Engine, options: RunOptions, *, seconds: float) -> Generator[Tried]:
    """Run a target until a violation, until nothing new is to be expected, or for some time.

    The first run has the seed `options.seed` and the plan `options.planned`, if they are given.
    Raises as `run` does.
    """
    ends = time.monotonic() + seconds
    first = secrets.randbelow(SEEDS) if options.seed is None else options.seed
    rng = random.Random(first)
    behaviors = Behaviors()
    closest: list[tuple[Closeness, int, tuple[PlannedFault, ...]]] = []
    number = 0
    while not number or time.monotonic() < ends:
        seed, planned = _next(target, closest, rng) if number else (first, options.planned)
        number += 1
        judged = to_verdict(target, engine, replace(options, seed=seed, planned=planned))
        close = closeness(judged.document)
        new = behaviors.add(judged.document, faults_of(judged.history.faults))
        drawn = of_seed(target, seed)
        own = planned or plan_of(drawn, drawn.faults, seed)
        closest = sorted([*closest, (close, seed, own)], key=lambda each: each[0], reverse=True)[:_KEPT]
        violated = close == VIOLATED
        yield Tried(
            number=number,
            seed=seed,
            changed=planned is not None,
            judged=judged,
            closeness=close,
            best=closest[0][0],
            new=new,
            left=behaviors.left,
            seen=str(behaviors),
            dried_up=behaviors.dried_up,
        )
        if violated or behaviors.dried_up:
            return


def _next(
    target: Target, closest: Sequence[tuple[Closeness, int, tuple[PlannedFault, ...]]], rng: random.Random
) -> tuple[int, tuple[PlannedFault, ...] | None]:
    """The seed and the plan of the next run; None: the plan that the seed gives."""
    with_moments = [each for each in closest if any(fault.moments for fault in each[2])]
    if not with_moments or rng.random() > _CHANGED:
        return rng.randrange(SEEDS), None
    _, known, planned = rng.choice(with_moments)
    duration = of_seed(target, known).workload.duration
    return known, tuple(_moved(fault, duration, rng) for fault in planned)


def _moved(fault: PlannedFault, duration: int, rng: random.Random) -> PlannedFault:
    """Move every moment of a fault by the same random time, within the run."""
    by = round(rng.gauss(0, _FARTHEST * duration))
    moved = sorted(min(max(0, moment + by), duration - 1) for moment in fault.moments)
    return replace(fault, moments=tuple(moved))
