"""Locks without tokens: the array rules accuse the writes that the definitions accuse."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence, gather
from checkers.history.records import Commit, Header, History, Op, Outcome
from checkers.rules.early_grants import early_grants
from checkers.rules.late_writes import late_writes
from checkers.rules.registers import observed
from checkers.rules.stale_writes import by_holds
from checkers.verdict.coverage import attempts
from checkers.verdict.judge import examine
from tests.oracles import holds, pairwise
from tests.support.brute_force import renumbered
from tests.support.differential import disagreements, random_histories
from tests.support.small_histories import lock_history


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


pytestmark = pytest.mark.slow

Case = tuple[tuple[Op, ...], list[Commit]]
UNFENCED = Header(target="test", fenced=False)


def evidence_of(case: Case, *, with_log: bool) -> Evidence:
    operations, commits = case
    history = History(header=UNFENCED, operations=operations)
    return gather(history, commits if with_log else None, same_run=True)


def by_resource(operations: Iterable[Op]) -> list[list[Op]]:
    ops = list(operations)
    return [[op for op in ops if op.resource == name] for name in sorted({op.resource for op in ops})]


def of_each(definition: Callable[[Sequence[Op]], set[int]]) -> Callable[[Case], set[int]]:
    return lambda case: set().union(*map(definition, by_resource(case[0])))


def accused(conflicts: Iterable[Conflict], name: str = "stale-write") -> set[int]:
    return {each.accused.index for each in conflicts if each.anomaly == name}


def logged(case: Case) -> set[int]:
    operations, commits = case
    writes = {op.value: op for op in operations if op.f == "write"}
    log = [writes[each.value] for each in commits]
    stale = (
        holds.stale_in_log(own, [op for op in log if op.resource == own[0].resource])
        for own in by_resource(operations)
    )
    return set().union(*stale)


def test_stale_writes_are_accused_by_what_clients_saw() -> None:
    def fast(case: Case) -> set[int]:
        return accused(observed(evidence_of(case, with_log=False)))

    assert not disagreements(random_histories(tokenless_history, "seen"), fast, of_each(holds.stale_as_seen))


def test_stale_writes_are_accused_by_the_log() -> None:
    def fast(case: Case) -> set[int]:
        return accused(by_holds.in_log(evidence_of(case, with_log=True)))

    assert not disagreements(random_histories(tokenless_history, "log"), fast, logged)


@pytest.mark.parametrize("with_log", [False, True])
def test_attempts_count_what_the_definitions_accuse(with_log: bool) -> None:
    def fast(case: Case) -> tuple[int, int]:
        counts = attempts(evidence_of(case, with_log=with_log))
        return counts["late_writes_attempted"], counts["stale_writes_accepted"]

    def defined(case: Case) -> tuple[int, int]:
        late = of_each(holds.late_writes)(case)
        stale = logged(case) | _seen_in_log(case) if with_log else of_each(holds.stale_as_seen)(case)
        return len(late), len(stale)

    histories = list(random_histories(tokenless_history, f"attempts {with_log}"))
    assert [case for case in histories if fast(case) != defined(case)] == []


def _seen_in_log(case: Case) -> set[int]:
    """What clients saw of the writes that the log has."""
    operations, commits = case
    values = {each.value for each in commits}
    return of_each(holds.stale_as_seen)(
        ([op for op in operations if op.f != "write" or op.value in values], [])
    )


def test_late_writes_that_are_not_stale_are_counted() -> None:
    def fast(case: Case) -> set[int]:
        return accused(late_writes(evidence_of(case, with_log=True)), "late-write")

    def defined(case: Case) -> set[int]:
        values = {each.value for each in case[1]}
        took_effect = {op.index for op in case[0] if op.value in values and op.f == "write"}
        return (of_each(holds.late_writes)(case) & took_effect) - logged(case)

    assert not disagreements(random_histories(tokenless_history, "late"), fast, defined)


def test_no_order_of_tokens_makes_a_grant_without_one_early() -> None:
    def some_without(rng: random.Random) -> tuple[Op, ...]:
        return tuple((replace(op, token=None) if rng.random() < 0.5 else op) for op in lock_history(rng))

    def fast(operations: tuple[Op, ...]) -> set[int]:
        history = History(header=Header(target="test"), operations=operations)
        return {each.accused.index for each in early_grants(Evidence(history=history))}

    histories = random_histories(some_without, "early")

    assert not disagreements(histories, fast, pairwise.early_grants)


def test_every_finding_is_proved_and_explained() -> None:
    for case in random_histories(tokenless_history, "explained", 120):
        for with_log in (False, True):
            found = examine(evidence_of(case, with_log=with_log))
            assert not found.crashes, (case, found.crashes)
            for finding in found.findings:
                assert not finding.account.doubt, (case, finding.account)
                assert "None" not in " ".join((finding.summary, *finding.steps)), (case, finding)
