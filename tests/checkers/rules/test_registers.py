"""Algorithms F and R against a search over every order, which is slow and to be believed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence
from checkers.history.records import Op, Outcome
from checkers.rules.registers import observed
from tests.support.brute_force import (
    INITIAL,
    explained_with_a_fence,
    explained_with_fences,
    explained_without_a_fence,
    fenced,
    history_of,
    random_register_history,
    read,
    renumbered,
    write,
)
from tests.support.examples import Cases, examples
from tests.support.selection import seeds

FENCED_NAMES = {
    "stale-write",
    "stale-read",
    "false-rejection",
    "ghost-write",
    "lost-write",
    "high-water-regression",
    "non-linearizable",
}


def conflicts(operations: tuple[Op, ...], *, strict: bool, fenced: bool = True) -> list[Conflict]:
    return list(observed(Evidence(history=history_of(operations, strict=strict, fenced=fenced))))


@st.composite
def histories(draw: st.DrawFn) -> tuple[Op, ...]:
    """Up to six operations on two or three tokens, with ties in time."""
    operations: list[Op] = []
    for index in range(draw(st.integers(1, 6))):
        called, returned = sorted((draw(st.integers(0, 9)), draw(st.integers(0, 9))))
        kind = draw(st.sampled_from(["ok", "info", "stale", "read", "read"]))
        if kind == "read":
            operations.append(read(index, INITIAL, called, returned))
        else:
            operations.append(write(index, draw(st.integers(1, 3)), called, returned, kind))
    pairs = [INITIAL, *((op.value, op.token) for op in operations if op.f == "write")]
    read_pairs = {op.index: draw(st.sampled_from(pairs)) for op in operations if op.f == "read"}
    return renumbered(
        [
            read(op.index, read_pairs[op.index], op.called, op.returned or 0) if op.f == "read" else op
            for op in operations
        ]
    )


@settings(max_examples=examples(600), deadline=None)
@given(histories(), st.booleans())
def test_a_fenced_history_is_right_iff_some_order_explains_it(
    operations: tuple[Op, ...], strict: bool
) -> None:
    found = conflicts(operations, strict=strict)

    assert (not found) == explained_with_a_fence(operations, strict=strict)
    assert {conflict.anomaly for conflict in found} <= FENCED_NAMES


@pytest.mark.parametrize("seed", seeds(4))
def test_focused_histories_agree_with_the_search(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    right = 0
    for _ in range(cases(1500)):
        operations = random_register_history(rng)
        for strict in (True, False):
            explained = explained_with_a_fence(operations, strict=strict)
            assert (not conflicts(operations, strict=strict)) == explained, operations
            right += explained
    assert 0.2 < right / (2 * cases(1500)) < 0.8  # both verdicts are well represented


@pytest.mark.parametrize("seed", seeds(4))
def test_without_a_fence_a_stale_write_is_reported_iff_every_order_has_one(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    for _ in range(cases(1500)):
        operations = renumbered([op for op in random_register_history(rng) if op.outcome is not Outcome.FAIL])
        for strict in (True, False):
            found = conflicts(operations, strict=strict, fenced=False)
            names = {conflict.anomaly for conflict in found}
            assert (not found) == explained_with_a_fence(operations, strict=strict), operations
            assert (names <= {"stale-write"}) == explained_without_a_fence(operations), operations


@pytest.mark.parametrize("seed", seeds(2))
def test_with_fence_operations_no_correct_history_is_accused(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    right = found_wrong = 0
    for _ in range(cases(2500)):
        operations = tuple(
            fenced(op) if op.f == "write" and op.outcome is not Outcome.FAIL and rng.random() < 0.3 else op
            for op in random_register_history(rng)
        )
        for strict in (True, False):
            found = conflicts(operations, strict=strict)
            if explained_with_fences(operations, strict=strict):
                assert not found, operations
                right += 1
            else:
                found_wrong += bool(found)
    assert right > 0.16 * 2 * cases(2500)
    assert found_wrong > 0.16 * 2 * cases(2500)


def test_a_timed_out_write_that_was_read_is_held_to_its_place() -> None:
    # Testing only ok writes misses it: the newer write was accepted before the older was called.
    operations = renumbered(
        [
            write(0, 2, 1, 3),
            read(1, ("v2", 1), 2, 5),
            write(2, 1, 4, 0, "info"),
        ]
    )

    (found,) = conflicts(operations, strict=True)

    assert (found.anomaly, found.accused.value) == ("stale-write", "v2")


def test_a_rejection_proves_a_timed_out_write_to_later_readers() -> None:
    # No client saw token 3 take effect, but nothing else can have caused the rejection of token 2.
    operations = renumbered(
        [
            write(0, 1, 0, 1),
            write(1, 3, 2, 0, "info"),
            write(2, 2, 4, 5, "stale"),
            read(3, ("v0", 1), 6, 7),
        ]
    )

    (found,) = conflicts(operations, strict=True)

    assert (found.anomaly, found.accused.f) == ("non-linearizable", "read")


def test_an_inclusive_level_starts_with_a_possible_first_value() -> None:
    # v1 was called early, but v0 had been read before v1's own read: only v0 can be the first of
    # token 2, and it was called after the rejection had returned.
    operations = renumbered(
        [
            write(0, 2, 6, 7),
            write(1, 2, 0, 0, "info"),
            write(2, 1, 1, 2, "stale"),
            read(3, ("v1", 2), 9, 10),
        ]
    )

    (found,) = conflicts(operations, strict=False)

    assert (found.anomaly, found.accused.value) == ("false-rejection", "v2")
    assert not explained_with_a_fence(operations, strict=False)


def test_one_stale_write_and_the_reads_that_show_it_are_one_event() -> None:
    operations = renumbered(
        [
            write(0, 2, 0, 1),
            write(1, 1, 2, 3),
            *(read(i, ("v1", 1), 2 * i, 2 * i + 1) for i in range(2, 9)),
        ]
    )

    assert [each.anomaly for each in conflicts(operations, strict=True)] == ["stale-write"]
    assert [each.anomaly for each in conflicts(operations, strict=True, fenced=False)] == ["stale-write"]


def test_a_read_that_outlives_the_next_write_is_stale() -> None:
    operations = renumbered(
        [
            write(0, 2, 0, 1),
            write(1, 1, 2, 3),
            write(2, 3, 4, 5),
            read(3, ("v1", 1), 6, 7),
        ]
    )

    found = {conflict.anomaly: conflict.accused.value for conflict in conflicts(operations, strict=True)}

    assert found == {"stale-write": "v1", "stale-read": "v1"}


def test_a_read_as_the_next_write_returned_is_no_second_event() -> None:
    operations = renumbered(
        [
            write(0, 2, 0, 1),
            write(1, 1, 2, 3),
            write(2, 3, 4, 6),
            read(3, ("v1", 1), 6, 7),
        ]
    )

    assert [each.anomaly for each in conflicts(operations, strict=True)] == ["stale-write"]


def test_a_read_proves_a_stale_write_only_against_earlier_values() -> None:
    operations = renumbered(
        [
            write(0, 1, 0, 0, "info"),
            write(1, 2, 1, 2),
            read(2, ("v0", 1), 4, 5),
            write(3, 3, 6, 7),
        ]
    )

    (found,) = conflicts(operations, strict=True, fenced=False)

    assert found.anomaly == "stale-write"
    assert [op.value for op in found.because] == ["v1", "v0"]


def test_findings_are_in_the_order_of_the_registers() -> None:
    refused = write(0, 1, 0, 1, "stale")
    stale = [replace(op, resource="r1") for op in (write(1, 2, 2, 3), write(2, 1, 4, 5))]

    found = conflicts((refused, *stale), strict=True)

    assert [(each.anomaly, each.accused.resource) for each in found] == [
        ("false-rejection", "r0"),
        ("stale-write", "r1"),
    ]
