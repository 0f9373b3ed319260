"""Columns of operations: nothing of them is lost, and their moments compare as their times do."""

from __future__ import annotations

import itertools
import random
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from checkers.history.columns import Columns, Operations
from checkers.history.ranks import UNRANKED, rank
from checkers.history.reader import parse, read
from checkers.history.records import Op, Outcome, op_of
from tests.support.broken_storages import KINDS
from tests.support.brute_force import random_register_history, renumbered
from tests.support.simulation import Simulation
from tests.support.storage_runs import simulate

APPENDED = Op(
    index=0,
    process=0,
    f="append",
    resource="r0",
    called=1,
    returned=2,
    outcome=Outcome.OK,
    token=1,
    value=("a", 2),
    element=2,
    seen=("a",),
    lines=(2, 3),
)


def test_an_operation_of_all_its_values_is_the_same() -> None:
    assert op_of(getattr(APPENDED, each.name) for each in fields(Op)) == APPENDED
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        op_of((1, 2))


def rows_of(columns: Columns) -> tuple[Op, ...]:
    return tuple(columns.ops(np.arange(len(columns))))


def on_two_resources(rng: random.Random) -> tuple[Op, ...]:
    """A small history with ties in time, in which resources, lines and answers come as they will."""
    return renumbered(
        [
            replace(op, resource=rng.choice(["r0", "r1"]), lines=op.lines[: rng.randrange(3)])
            for op in random_register_history(rng)
        ]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_operations_come_back_from_their_columns(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(20):
        operations = simulate(rng, kind).history.operations

        assert rows_of(Columns.of(operations)) == tuple(operations)


def test_operations_of_locks_come_back_from_their_columns() -> None:
    operations = parse(Simulation(seed=1).lines()).operations

    assert rows_of(Columns.of(operations)) == tuple(operations)
    assert {op.f for op in operations} >= {"acquire", "renew", "release", "write", "read"}


def test_lines_and_answers_may_be_missing() -> None:
    rng = random.Random(1)
    for _ in range(100):
        operations = on_two_resources(rng)

        assert rows_of(Columns.of(operations)) == operations


def test_the_initial_value_has_a_number() -> None:
    columns = Columns.of([APPENDED], initial=("a",))

    assert columns.values[columns.initial] == ("a",)
    assert columns.values[0] is None


def test_appends_keep_their_elements_outside_of_the_columns() -> None:
    operations = Operations.of([APPENDED])

    assert list(operations) == [APPENDED]
    assert rows_of(operations.columns) == (replace(APPENDED, element=None, seen=None),)


def test_no_operations_have_columns_too() -> None:
    assert rows_of(Columns.of([])) == ()


def test_moments_of_a_resource_compare_as_their_times_do() -> None:
    rng = random.Random(2)
    for _ in range(200):
        operations = on_two_resources(rng)
        ranks = rank(Columns.of(operations))
        events = [(op.resource, op.called, int(ranks.called[op.index])) for op in operations]
        events += [
            (op.resource, op.returned, int(ranks.returned[op.index]))
            for op in operations
            if op.returned is not None
        ]

        assert all(
            (one[1] < other[1], one[1] == other[1]) == (one[2] < other[2], one[2] == other[2])
            for one, other in itertools.permutations(events, 2)
            if one[0] == other[0]
        )
        assert all((int(ranks.returned[op.index]) == UNRANKED) == (op.returned is None) for op in operations)
        assert int(ranks.start.min()) < min(moment for _, _, moment in events)
        assert max(moment for _, _, moment in events) < ranks.size


def test_moments_of_different_resources_do_not_mix() -> None:
    rng = random.Random(3)
    for _ in range(100):
        operations = on_two_resources(rng)
        columns = Columns.of(operations)
        ranks = rank(columns)
        for earlier, later in itertools.combinations(range(len(columns.resources)), 2):
            of = [columns.resource == number for number in (earlier, later)]
            ended = ranks.returned[of[0] & (ranks.returned != UNRANKED)]

            assert max(ranks.called[of[0]].max(), ended.max(initial=0)) < ranks.start[later]
            assert ranks.start[later] < ranks.called[of[1]].min()


def test_operations_in_columns_are_a_sequence_that_keeps_what_it_made(two_registers: Path) -> None:
    operations = read(two_registers).operations
    plain = tuple(operations)

    assert read(two_registers).operations[2] == plain[2]
    assert operations[::2] == plain[::2]
    assert operations[::-1] == plain[::-1]
    assert operations[1:3] == plain[1:3]
    assert [operations[at] for at in (0, 3, -1)] == [plain[0], plain[3], plain[3]]
    assert operations[2] is operations[2]
