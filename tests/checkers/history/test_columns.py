"""Histories are judged on columns as line by line; nothing is lost in columns, and moments compare as times."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.generated import Shape, generate, lines
from checkers.facts.evidence import gather
from checkers.history import growing
from checkers.history.columns import Columns, Operations
from checkers.history.ranks import UNRANKED, rank
from checkers.history.reader import parse, read
from checkers.history.records import Op, Outcome, op_of
from checkers.rules.late_writes import late_writes
from checkers.rules.registers import observed
from checkers.verdict.judge import judge
from tests.support.broken_storages import KINDS
from tests.support.brute_force import fenced, operation, random_register_history, renumbered
from tests.support.events import BYTES, HOSTILE
from tests.support.in_columns import in_columns, lines_of, read_carefully, read_or_error, without_times
from tests.support.literal_histories import LITERAL
from tests.support.selection import Cases, examples
from tests.support.simulation import Simulation
from tests.support.storage_runs import simulate

ROUNDS = int(os.environ.get("FENCEPOST_TEST_ROUNDS", "1"))  # a nightly run asks for more


def crowd(rng: random.Random, resources: int = 3) -> tuple[Op, ...]:
    """Several registers at the same time, some fenced ahead of their writes, some without a token."""
    operations: list[Op] = []
    for number in range(rng.randint(1, resources)):
        for op in random_register_history(rng):
            used = op
            if op.f == "write" and op.outcome is not Outcome.FAIL and rng.random() < 0.1:
                used = fenced(op)
            if used.outcome is Outcome.FAIL and rng.random() < 0.2:
                used = replace(used, error="refused")
            if used.value is not None:
                used = replace(used, value=f"{number}{used.value}")
            operations.append(replace(used, resource=f"r{number}", process=len(operations)))
    return renumbered(operations)


def check_same(lines: Sequence[str]) -> None:
    plain, columns = parse(lines), in_columns(lines)

    assert isinstance(columns.operations, Operations)
    assert replace(columns, operations=tuple(columns.operations)) == plain
    assert list(observed(gather(columns))) == list(observed(gather(plain))), lines
    assert list(late_writes(gather(columns))) == list(late_writes(gather(plain))), lines
    assert without_times(judge(columns)) == without_times(judge(plain)), lines


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["strict", "inclusive"])
@pytest.mark.parametrize("is_fenced", [True, False])
def test_small_histories_of_several_registers(policy: str, is_fenced: bool) -> None:
    rng = random.Random(f"{policy} {is_fenced}")
    wrong = 0
    for _ in range(150 * ROUNDS):
        lines = lines_of(crowd(rng), policy=policy, fenced=is_fenced)
        wrong += bool(list(observed(gather(in_columns(lines)))))
        check_same(lines)
    assert wrong > 25 * ROUNDS


def test_small_histories_on_initial_values_survive_columns(cases: Cases) -> None:
    rng = random.Random(0)
    for _ in range(cases(150 * ROUNDS)):
        token, value = rng.choice([-1, 0, 2, 1 << 61]), rng.choice(["old", 3, None])
        check_same(lines_of(crowd(rng, 2), initial={"value": value, "token": token}))


def test_small_histories_with_writes_without_a_token(cases: Cases) -> None:
    rng = random.Random(0)
    for _ in range(cases(100 * ROUNDS)):
        operations = [
            replace(op, token=None) if op.f == "write" and rng.random() < 0.2 else op for op in crowd(rng)
        ]
        check_same(
            lines_of(operations, fenced=rng.random() < 0.7, policy=rng.choice(["strict", "inclusive"]))
        )


def test_a_list_may_be_a_value() -> None:
    lines = lines_of(crowd(random.Random(0), 1), initial={"value": ["a", 1], "token": 0})
    read_ = {"process": 1000, "f": "read", "resource": "r0", "time": 10**6}
    lines += [
        json.dumps(read_ | {"type": "invoke"}),
        json.dumps(read_ | {"type": "ok", "value": ["a", 1], "token": 0}),
    ]

    check_same(lines)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [1 << 32, (1 << 62) + 5])
def test_tokens_may_be_any_number(shift: int, cases: Cases) -> None:
    rng = random.Random(shift)
    for _ in range(cases(50 * ROUNDS)):
        operations = [
            op if op.token in {None, 0} else replace(op, token=shift + op.token) for op in crowd(rng)
        ]
        check_same(lines_of(operations, policy=rng.choice(["strict", "inclusive"])))


@pytest.mark.slow
@pytest.mark.parametrize("path", LITERAL.values(), ids=LITERAL)
def test_known_histories(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)

    check_same(lines)


@pytest.mark.slow
def test_with_the_storages_own_order() -> None:
    for seed in range(8 * ROUNDS):
        run = Simulation(seed=seed, policy="inclusive" if seed % 2 else "strict", fenced=seed % 3 > 0)
        columns, plain = (judge(as_read(run.lines()), run.commits()) for as_read in (in_columns, parse))

        assert without_times(columns) == without_times(plain)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["strict", "inclusive"])
@pytest.mark.parametrize("options", [{}, {"fenced": False}, {"early": 1500}, {"forgetful": True}], ids=str)
def test_whole_simulated_runs(policy: str, options: dict[str, Any]) -> None:
    for seed in range(4 * ROUNDS):
        check_same(Simulation(seed=seed, policy=policy, **options).lines())


@settings(max_examples=examples(300 * ROUNDS), deadline=None)
@given(st.data())
def test_refusals_are_left_to_the_careful_reader(data: st.DataObject) -> None:
    text = bytearray(BYTES)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        upto = data.draw(st.integers(at, min(len(text), at + 40)))
        text[at:upto] = data.draw(st.sampled_from([*HOSTILE, b"\n", b"}\n{", b"\r\n", b"} {"]))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        path.write_bytes(bytes(text))

        assert read_or_error(read, path) == read_or_error(read_carefully, path)


@pytest.mark.slow
def test_a_long_file_is_read_in_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(Simulation(seed=1, end=200_000).lines()) + '{"time":')
    monkeypatch.setattr(growing, "CHUNK", 1000)

    found = read(path)

    assert isinstance(found.operations, Operations)
    assert read_or_error(read, path) == read_or_error(read_carefully, path)
    assert found.operations[-2:] == tuple(found.operations)[-2:]
    assert found.notices


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["strict", "inclusive", "plain"])
@pytest.mark.parametrize(("clients", "lost"), [(5, 0.05), (20, 0.2), (60, 0.01)])
def test_generated_histories_of_some_thousand_operations(policy: Any, clients: int, lost: float) -> None:
    for seed in range(ROUNDS):
        for resources, wrong in ((1, True), (3, True), (40, False)):
            shape = Shape(
                operations=1500,
                clients=clients,
                lost=lost,
                policy=policy,
                resources=resources,
                wrong=wrong,
                seed=seed,
            )
            generated = generate(shape)
            check_same(list(lines(generated)))
            assert bool(judge(generated).findings) == wrong


LISTS = {"value": ("a", 2), "element": 2, "seen": ("a",)}
APPENDED = operation("append", 0, 1, 2, token=1, lines=(2, 3), learned=None, **LISTS)


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
