"""A storage: its definition against every order, and the fast checkers against that."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence, gather
from checkers.history.records import Header, Op, Outcome
from checkers.rules.late_writes import late_writes
from checkers.rules.registers import observed
from checkers.rules.stale_writes.by_clients import SEEN_AFTER_NEWER
from checkers.verdict.judge import judge
from tests.oracles import pairwise
from tests.oracles.storages import false_rejections, is_right, late_alone, stale_writes
from tests.support.brute_force import (
    explained_with_fences,
    explained_without_a_fence,
    history_of,
    random_register_history,
    renumbered,
)
from tests.support.commit_logs import committed, random_log
from tests.support.commit_logs import explained as explained_by_the_log
from tests.support.differential import CASES, SCALE, disagreements, random_histories
from tests.support.in_columns import in_columns, lines_of
from tests.support.selection import Cases, nightly
from tests.support.small_histories import (
    contended_history,
    every_register_history,
    history_with_grants,
    late_write_history,
    one_level_history,
)

pytestmark = pytest.mark.timeout(600 if SCALE == 0 else 3600)

Make = Callable[[random.Random], tuple[Op, ...]]


def contended(*, strict: bool, fences: bool = False) -> Make:
    return lambda rng: contended_history(rng, strict=strict, fences=fences)


FENCED: dict[str, tuple[Make, bool]] = {
    "any, strict": (random_register_history, True),
    "any, inclusive": (random_register_history, False),
    "contended, strict": (contended(strict=True), True),
    "contended, inclusive": (contended(strict=False), False),
    "contended under the other policy": (contended(strict=False), True),
    "one level": (one_level_history, False),
}
"""How histories are made, and whether they are judged as strict."""

REGISTERS = 300
"""So many small histories are judged as the registers of one long one."""

LATER = 10
"""What is added to all moments there: a history has none before 0."""


def header(*, strict: bool, fenced: bool = True) -> Header:
    return Header(target="test", policy="strict" if strict else "inclusive", fenced=fenced)


def by_definition(*, strict: bool, fenced: bool = True) -> Callable[[Sequence[Op]], bool]:
    return lambda operations: is_right(operations, header(strict=strict, fenced=fenced))


def by_search(*, strict: bool) -> Callable[[Sequence[Op]], bool]:
    return lambda operations: explained_with_fences(operations, strict=strict)


def anomalies(operations: Sequence[Op], *, strict: bool, fenced: bool = True) -> set[str]:
    return {conflict.anomaly for conflict in conflicts(operations, strict=strict, fenced=fenced)}


def conflicts(operations: Sequence[Op], *, strict: bool, fenced: bool = True) -> Sequence[Conflict]:
    return observed(Evidence(history=history_of(operations, strict=strict, fenced=fenced)))


def by_algorithm_f(*, strict: bool) -> Callable[[Sequence[Op]], bool]:
    return lambda operations: not anomalies(operations, strict=strict)


@pytest.mark.parametrize("kind", FENCED)
def test_a_fenced_storage_is_judged_alike_in_three_ways(kind: str, cases: Cases) -> None:
    make, strict = FENCED[kind]

    assert not disagreements(
        random_histories(make, f"fenced {kind}", cases(CASES)),
        by_search(strict=strict),
        by_definition(strict=strict),
        by_algorithm_f(strict=strict),
    )


@pytest.mark.slow
@pytest.mark.parametrize("strict", [True, *nightly(False)])
def test_a_write_that_alone_explains_all_reads_is_what_is_stale(strict: bool) -> None:
    def make(rng: random.Random) -> tuple[Op, ...]:
        return late_write_history(rng, strict=strict)

    def is_one_late_write(operations: Sequence[Op]) -> bool:
        return bool(late_alone(operations, header(strict=strict)))

    def is_one_stale_write(operations: Sequence[Op]) -> bool:
        found = {each.accused.index for each in conflicts(operations, strict=strict) if is_by_reads(each)}
        return len(found) == 1 and found <= late_alone(operations, header(strict=strict))

    def is_any_stale_write(operations: Sequence[Op]) -> bool:
        return any(map(is_by_reads, conflicts(operations, strict=strict)))

    histories = random_histories(make, f"late {strict}", 5 * CASES)
    of_one_value = [each for each in histories if shows_one_value_only(conflicts(each, strict=strict))]

    assert not disagreements(of_one_value, is_one_late_write, is_one_stale_write, is_any_stale_write)


def shows_one_value_only(found: Sequence[Conflict]) -> bool:
    """Is at most one value accused, that was written before it was read and was not sent too late?"""
    clear = (each.anomaly == "stale-read" or is_by_reads(each) for each in found)
    return len({each.accused.value for each in found}) <= 1 and all(clear)


def is_by_reads(conflict: Conflict) -> bool:
    return conflict.breach is SEEN_AFTER_NEWER


@pytest.mark.parametrize("strict", [True, False])
def test_fence_operations_are_judged_alike_by_every_order(strict: bool, cases: Cases) -> None:
    def right_and_not_accused(operations: Any) -> bool:
        return by_search(strict=strict)(operations) and not anomalies(operations, strict=strict)

    assert not disagreements(
        random_histories(contended(strict=strict, fences=True), f"fences {strict}", cases(CASES)),
        by_search(strict=strict),
        by_definition(strict=strict),
        right_and_not_accused,
    )


@pytest.mark.parametrize("make", [random_register_history, contended(strict=False)], ids=["any", "contended"])
def test_a_storage_without_a_fence_is_judged_alike_in_three_ways(
    make: Callable[..., Any], cases: Cases
) -> None:
    def fast(operations: Any) -> bool:
        return anomalies(operations, strict=False, fenced=False) <= {"stale-write", "false-rejection"}

    assert not disagreements(
        random_histories(make, "plain", cases(CASES)),
        explained_without_a_fence,
        by_definition(strict=False, fenced=False),
        fast,
    )


@pytest.mark.slow
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("size", "tokens", "step"), [(3, (1, 2), 1), *nightly((3, (0, 1, 2), 7), (4, (1, 2), 211))]
)
def test_every_history_of_three_and_of_four_operations_is_judged_alike(
    size: int, tokens: tuple[int, ...], step: int, strict: bool
) -> None:
    if SCALE:
        step = 1
    histories = every_register_history(size, tokens, step)

    assert not disagreements(
        histories, by_search(strict=strict), by_definition(strict=strict), by_algorithm_f(strict=strict)
    )


@pytest.mark.slow
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("fenced", [True, False])
def test_on_columns_many_registers_are_judged_as_each_by_definition(strict: bool, fenced: bool) -> None:
    def make(rng: Any) -> tuple[Op, ...]:
        aimed = rng.random() < 0.7
        operations = contended_history(rng, strict=strict) if aimed else random_register_history(rng)
        return operations if fenced else without_rejections(operations)

    histories = list(random_histories(make, f"columns {strict} {fenced}"))
    accused = accused_on_columns(histories, header(strict=strict, fenced=fenced))

    assert not disagreements(
        range(len(histories)),
        lambda number: number not in accused,
        lambda number: is_right(histories[number], header(strict=strict)),
    )


def without_rejections(operations: Sequence[Op]) -> tuple[Op, ...]:
    return renumbered([op for op in operations if op.outcome is not Outcome.FAIL])


def accused_on_columns(histories: Sequence[Sequence[Op]], header: Header) -> set[int]:
    """The numbers of the histories that are wrong, judged many at a time as registers of one long history."""
    accused: set[int] = set()
    for start in range(0, len(histories), REGISTERS):
        operations = [
            replace(
                op,
                resource=f"{number}",
                called=op.called + LATER,
                learned=op.called + LATER if op.learned is None else op.learned + LATER,
                value=None if op.value is None else f"{number} {op.value}",
            )
            for number, history in enumerate(histories[start : start + REGISTERS], start=start)
            for op in history
        ]
        operations = [replace(op, process=process) for process, op in enumerate(operations)]
        lines = lines_of(operations, policy=header.policy, fenced=header.fenced)
        accused.update(int(each.accused.resource) for each in observed(gather(in_columns(lines))))
    return accused


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("fenced", [True, False])
def test_with_the_storages_own_order_it_is_judged_alike(strict: bool, fenced: bool, cases: Cases) -> None:
    def make(rng: Any) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
        operations = random_register_history(rng)
        operations = operations if fenced else without_rejections(operations)
        return operations, tuple(random_log(rng, operations))

    def every_order(history: Any) -> bool:
        return explained_by_the_log(*history, strict=strict, fenced=fenced)

    def definition(history: Any) -> bool:
        return is_right(history[0], header(strict=strict), history[1])

    def fast(history: Any) -> bool:
        run = history_of(history[0], strict=strict, fenced=fenced)
        verdict = judge(run, committed(history[1]))
        in_log = [each for each in verdict.checkers if each.evidence == "committed" and each.findings]
        assert bool(verdict.findings) == bool(in_log)  # what clients saw cannot say more
        return not in_log

    histories = random_histories(make, f"log {strict} {fenced}", cases(CASES))

    assert not disagreements(histories, every_order, definition, fast)


def accused_of(anomaly: str, operations: Sequence[Op], *, strict: bool, fenced: bool = False) -> set[int]:
    evidence = Evidence(history=history_of(operations, strict=strict, fenced=fenced))
    return {each.accused.index for each in observed(evidence) if each.anomaly == anomaly}


@pytest.mark.slow
def test_without_a_fence_a_write_is_stale_only_if_so_in_every_order() -> None:
    def some_stale_and_no_others(operations: Any) -> bool:
        accused = accused_of("stale-write", operations, strict=False)
        return bool(accused) and accused <= stale_writes(operations, header(strict=False))

    def some_stale(operations: Any) -> bool:
        return bool(stale_writes(operations, header(strict=False)))

    histories = filter(explained_without_a_fence, random_histories(random_register_history, "stale"))

    assert not disagreements(histories, some_stale, some_stale_and_no_others)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [True, False])
def test_without_a_fence_rejections_are_false_by_definition(strict: bool) -> None:
    def fast(operations: Any) -> set[int]:
        return accused_of("false-rejection", operations, strict=strict)

    histories = filter(
        explained_without_a_fence, random_histories(random_register_history, f"false {strict}")
    )

    assert not disagreements(
        histories, fast, lambda operations: false_rejections(operations, header(strict=strict))
    )


@pytest.mark.slow
@pytest.mark.parametrize("fenced", [True, False])
def test_late_writes_agree_with_their_definition(fenced: bool) -> None:
    def definition(operations: Any) -> set[int]:
        stale = accused_of("stale-write", operations, strict=False, fenced=fenced)
        return pairwise.late_writes(operations, stale)

    def fast(operations: Any) -> set[int]:
        evidence = Evidence(history=history_of(operations, strict=False, fenced=fenced))
        return {each.accused.index for each in late_writes(evidence)}

    right = by_definition(strict=False, fenced=fenced)
    histories = filter(right, random_histories(history_with_grants, f"late {fenced}"))

    assert not disagreements(histories, fast, definition)
