"""Registers whose stale writes, refusals and reads prove one another: what each history must be called."""

from __future__ import annotations

from dataclasses import replace

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence
from checkers.history.records import Op
from checkers.rules.registers import observed
from tests.support.brute_force import (
    history_of,
    read,
    renumbered,
    write,
)


def conflicts(operations: tuple[Op, ...], *, strict: bool, fenced: bool = True) -> list[Conflict]:
    return list(observed(Evidence(history=history_of(operations, strict=strict, fenced=fenced))))


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
