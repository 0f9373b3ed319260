"""What a storage lost: the fast search agrees with the definition, pair by pair; nothing is lost in right runs."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.cluster_columns import zones_of
from checkers.facts.clusters import Zone
from checkers.facts.evidence import gather
from checkers.history.reader import parse
from checkers.history.records import FaultEvent, History, Op, Outcome
from checkers.rules import registers
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.stale_reads import OLDER_THAN_ACCEPTED, WENT_BACK
from tests.support.brute_force import INITIAL, history_of, read, renumbered, write
from tests.support.events import struck
from tests.support.in_columns import in_columns, lines_of
from tests.support.lock_requests import fault
from tests.support.selection import Cases, seeds


def run_of(operations: Sequence[Op], **header: Any) -> History:
    faults = header.pop("faults", ())
    return replace(history_of(operations, **header), faults=faults)


def found(history: History) -> list[Conflict]:
    return list(registers.observed(gather(history)))


def before_losses(history: History) -> list[Conflict]:
    """What is wrong if nothing was lost."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(registers, "with_losses", lambda _values, _storage, conflicts: conflicts)
        return found(replace(history))  # a copy, since a history is only judged once


def values_of(history: History) -> list[Zone]:
    """Every value that the register held."""
    zones = zones_of(gather(history))
    return [zones.zone(place) for place in range(len(zones.level))]


# The definition, pair by pair ------------------------------------------------------------------


def lost_by_definition(history: History) -> set[int]:
    """The indexes of the writes that are lost for good."""
    zones = values_of(history)
    conflicts = before_losses(history)
    suspects = [each.accused for each in conflicts if each.accused.f == "read" and each.breach in SUSPECT]
    values = {zone for zone in zones for read_ in zone.reads if read_ in suspects}
    stale = [each.accused for each in conflicts if each.anomaly == "stale-write"]
    return {
        last.write.index
        for past in values
        for read_ in past.reads
        for last in [last_before(zones, read_, fenced=history.header.fenced)]
        if last.write is not None
        and past.settled < last.write.called
        and is_final(history, zones, past, last, read_, stale)
    }


SUSPECT = (OLDER_THAN_ACCEPTED, WENT_BACK, FALSE_OR_STALE)


def sent(zone: Zone) -> float:
    return -math.inf if zone.write is None else zone.write.called


def last_before(zones: Sequence[Zone], read_: Op, *, fenced: bool) -> Zone:
    there = [zone for zone in zones if zone.settled < read_.called]
    last = [zone for zone in there if not any(zone.settled < sent(other) for other in there)]
    return max(last, key=lambda zone: ((zone.token if fenced else 0), sent(zone)))


def is_final(
    history: History, zones: Sequence[Zone], past: Zone, last: Zone, read_: Op, stale: Sequence[Op]
) -> bool:
    assert last.write is not None
    older = [zone for zone in zones if zone.settled < last.write.called]
    newer = [zone for zone in zones if zone not in older]
    if any(is_after(op, read_) for op in last.reads):
        return False
    stayed = any(is_after(op, read_) for zone in older for op in zone.reads) and not any(
        is_after(op, read_) for zone in newer for op in operations_of(zone)
    )
    came_back = any(is_after(op, read_) for zone in newer if zone.settled < read_.called for op in zone.reads)
    acted = history.header.fenced and any(
        is_after(op, read_) and passes(op, past, history) and not passes(op, last, history) for op in stale
    )
    restarted = any(
        event.kind in {"kill", "restart", "failover"} and event.target.split(":")[0] == "storage"
        for event in history.faults
    ) and overlaps(history.faults, last.write.called, read_.returned or 0)
    return stayed or ((acted or restarted) and not came_back)


def operations_of(zone: Zone) -> Iterator[Op]:
    yield from zone.reads
    if zone.write is not None:
        yield zone.write


def is_after(op: Op, read_: Op) -> bool:
    return read_.precedes(op)


def passes(op: Op, at: Zone, history: History) -> bool:
    token = op.token or 0
    return token > at.token if history.header.policy == "strict" else token >= at.token


def overlaps(faults: Sequence[FaultEvent], start: float, end: float) -> bool:
    began, healed = faults
    return began.time <= end and start <= healed.time


# Histories of storages that go back --------------------------------------------------------------


def forgetful_history(rng: random.Random, *, strict: bool, fenced: bool) -> tuple[Op, ...]:
    """A storage that goes back once or twice to what it held before, among clients that overlap a little."""
    states, operations, now = [INITIAL], [], 0
    for index in range(rng.randint(3, 9)):
        called = now + rng.randint(0, 1)
        returned = called + rng.choice([0, 0, 1, 3])
        now = called + rng.choice([1, 1, 2, 4])
        if rng.random() < 0.2 and len(states) > 1:
            del states[rng.randint(1, len(states) - 1) :]
        if rng.random() < 0.5:
            lagging = rng.choice(states) if rng.random() < 0.15 else states[-1]
            operations.append(read(index, lagging, called, returned))
            continue
        token = rng.randint(1, 4)
        passes_ = not fenced or (token > states[-1][1] if strict else token >= states[-1][1])
        outcome = rng.choice(["ok", "ok", "ok", "info"]) if passes_ else "stale"
        op = write(index, token, called, returned, outcome)
        operations.append(op)
        if passes_ and (outcome == "ok" or rng.random() < 0.5):
            states.append((op.value, token))
    return renumbered(operations)


@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("seed", seeds(3))
def test_the_lost_writes_are_those_of_the_definition(seed: int, fenced: bool, cases: Cases) -> None:
    rng = random.Random(seed)
    lost = explained = 0
    count = cases(1200, least=120)
    for _ in range(count):
        strict = rng.random() < 0.5
        operations = forgetful_history(rng, strict=strict, fenced=fenced)
        if rng.random() < 0.4:
            began, healed = rng.randint(0, 12), rng.randint(12, 20)
            kind, target = rng.choice([("failover", "storage"), ("kill", "lock")])
            faults = tuple(fault(target, began, healed, kind))
        else:
            faults = ()
        history = run_of(operations, strict=strict, fenced=fenced, faults=faults)

        conflicts, plain = found(history), before_losses(history)

        indexes = {each.accused.index for each in conflicts if each.anomaly == "lost-write"}
        assert indexes == lost_by_definition(history), (operations, faults, conflicts)
        assert bool(conflicts) == bool(plain)
        assert {each.accused.index for each in plain if each.anomaly == "stale-write"} == {
            each.accused.index for each in conflicts if each.anomaly == "stale-write"
        }
        lost += bool(indexes)
        explained += any(each.cause is not None for each in conflicts)
    assert lost > count / 20
    assert explained > (count / 60 if fenced else -1)


@pytest.mark.parametrize("seed", seeds(2))
def test_a_mark_that_went_back_was_read_higher_before(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    seen = 0
    for _ in range(cases(1500)):
        strict = rng.random() < 0.5
        operations = forgetful_history(rng, strict=strict, fenced=True)
        for each in found(run_of(operations, strict=strict)):
            if each.anomaly != "high-water-regression":
                continue
            higher = each.because[0]
            assert higher.precedes(each.accused)
            assert (higher.token or 0) > (each.accused.token or 0)
            assert each.cause is not None
            assert each.cause.anomaly == "lost-write"
            seen += 1
    assert seen > cases(1500) / 50


def test_a_replica_that_lags_behind_loses_nothing() -> None:
    operations = renumbered(
        [
            write(0, 1, 0, 1),
            write(1, 2, 2, 3),
            read(2, ("v0", 1), 4, 5),
            read(3, ("v0", 1), 6, 7),
            read(4, ("v1", 2), 8, 9),
        ]
    )

    assert [each.anomaly for each in found(run_of(operations))] == ["stale-read", "stale-read"]


def test_a_write_that_one_in_flight_may_have_overwritten_is_not_lost() -> None:
    overlapping = renumbered(
        [write(0, 1, 0, 9), write(1, 2, 2, 3), read(2, ("v0", 1), 10, 11), read(3, ("v0", 1), 12, 13)]
    )

    assert [(each.anomaly, each.accused.index) for each in found(run_of(overlapping))] == [("stale-write", 0)]


def test_the_reads_that_follow_a_loss_are_not_wrong_by_themselves() -> None:
    reads = [read(index, ("v0", 1), 2 * index + 2, 2 * index + 3) for index in range(2, 9)]
    operations = renumbered([write(0, 1, 0, 1), write(1, 2, 2, 3), *reads])

    assert [(each.anomaly, each.accused.index) for each in found(run_of(operations))] == [("lost-write", 1)]


def test_a_stale_write_names_the_loss_that_let_it_through() -> None:
    operations = renumbered(
        [write(0, 1, 0, 1), write(1, 3, 2, 3), read(2, ("v0", 1), 4, 5), write(3, 2, 6, 7)]
    )

    lost, stale = found(run_of(operations))

    assert (lost.anomaly, stale.anomaly, stale.cause) == ("lost-write", "stale-write", lost)


def test_an_info_that_was_read_can_be_lost() -> None:
    operations = renumbered(
        [
            write(0, 1, 0, 1),
            write(1, 2, 2, 3, "info"),
            read(2, ("v1", 2), 4, 5),
            read(3, ("v0", 1), 6, 7),
            read(4, ("v0", 1), 8, 9),
        ]
    )

    conflicts = found(run_of(operations))

    assert [each.anomaly for each in conflicts] == ["lost-write", "high-water-regression"]
    assert conflicts[0].accused.outcome is Outcome.INFO


@pytest.mark.parametrize("fenced", [True, False])
def test_on_columns_the_same_is_lost(fenced: bool, cases: Cases) -> None:
    rng = random.Random(5)
    for _ in range(cases(150)):
        strict = rng.random() < 0.5
        operations = forgetful_history(rng, strict=strict, fenced=fenced)
        head, *events = lines_of(operations, policy="strict" if strict else "inclusive", fenced=fenced)
        failover = [
            json.dumps(event) + "\n" for event in struck("failover", "storage", rng.randint(0, 9), 10)
        ]
        lines = [head, *sorted([*failover, *events], key=lambda line: json.loads(line)["time"])]

        assert found(in_columns(lines)) == found(parse(lines))
