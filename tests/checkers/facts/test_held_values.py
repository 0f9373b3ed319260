"""Which value a register had last, what came back, and what a read had returned before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from checkers.facts.cluster_columns import zones_of
from checkers.facts.evidence import gather
from checkers.facts.held_values import StaleWrites, StorageFacts, Values, of_columns, replaced_by
from checkers.history.faults import Faults
from checkers.history.ranges import NOWHERE
from checkers.history.ranks import UNRANKED
from checkers.history.records import Op
from checkers.rules.registers import observed
from tests.support.brute_force import history_of, read, renumbered, write

INITIAL = (None, 0)


def held(operations: Sequence[Op]) -> Values:
    """The values of a register: the initial one, and then those that were written."""
    return of_columns(zones_of(gather(history_of(operations))), 0)


def last_before(values: Values, probe: Op, *, fenced: bool) -> int:
    return int(values.last_before(np.array([values.moments(probe)[0]]), fenced=fenced)[0])


@pytest.mark.parametrize("fenced", [True, False])
def test_what_was_sent_after_a_value_had_been_there_replaced_it(fenced: bool) -> None:
    probe = read(2, INITIAL, 4, 5)
    values = held([write(0, 5, 0, 1), write(1, 1, 2, 3), probe])

    assert last_before(values, probe, fenced=fenced) == 2


@pytest.mark.parametrize(("fenced", "last"), [(True, 1), (False, 2)])
def test_of_two_values_written_at_once_the_newer_token_comes_last(fenced: bool, last: int) -> None:
    probe = read(2, INITIAL, 4, 5)
    values = held([write(0, 5, 0, 3), write(1, 1, 1, 2), probe])

    assert last_before(values, probe, fenced=fenced) == last


@pytest.mark.parametrize(("called", "stayed"), [(5, True), (6, False)])
def test_the_past_stayed_unless_something_was_sent_after_the_read_of_it(called: int, stayed: bool) -> None:
    back, again = read(2, ("v0", 1), 4, 5), read(4, ("v0", 1), 8, 9)
    values = held([write(0, 1, 0, 1), write(1, 2, 2, 3), back, write(3, 3, called, 7), again])

    assert values.stayed(2, values.moments(back)[1]) == stayed


def test_of_the_reads_of_higher_tokens_the_first_of_the_last_value_counts() -> None:
    writes = [write(0, 5, 0, 1), write(2, 7, 4, 5)]
    of_first, of_last, again = read(1, ("v0", 5), 2, 3), read(3, ("v2", 7), 6, 7), read(4, ("v2", 7), 8, 9)
    probe = read(5, INITIAL, 10, 11)
    values = held(renumbered([*writes, of_first, of_last, again, probe]))
    later = held(renumbered([*writes, of_first, read(3, ("v2", 7), 6, 20), probe]))

    higher = values.higher_read(0, values.moments(values.zone(0).reads[0])[0])
    assert higher is not None
    assert higher.index == 3
    higher = later.higher_read(0, later.moments(later.zone(0).reads[0])[0])
    assert higher is not None
    assert higher.index == 1


def went_back(*operations: Op) -> list[int]:
    history = history_of(renumbered(operations))
    found = observed(gather(history))
    return [each.accused.index for each in found if each.anomaly == "high-water-regression"]


def test_the_mark_went_back_with_the_first_read_without_the_lost_value() -> None:
    writes = write(0, 2, 0, 1), write(1, 4, 2, 3)
    higher, during = read(2, ("v1", 4), 4, 5), read(4, ("v1", 4), 7, 8)
    back, again = read(3, ("v0", 2), 6, 7), read(5, ("v0", 2), 9, 10)

    assert went_back(*writes, higher, back, during, again) == [3]


def test_a_stale_read_of_another_value_is_not_the_mark_that_went_back() -> None:
    first, second = write(0, 2, 0, 1), write(2, 4, 4, 20)
    before, stale = read(1, ("v0", 2), 2, 3), read(3, INITIAL, 6, 30)
    higher, back, again = read(4, ("v2", 4), 21, 22), read(5, ("v0", 2), 24, 25), read(6, ("v0", 2), 26, 27)

    assert went_back(first, before, second, stale, higher, back, again) == [5]


def test_a_read_that_returned_when_another_was_called_came_no_earlier() -> None:
    long, higher = read(1, ("v0", 5), 2, 6), read(2, ("v0", 5), 3, 4)
    probe = read(3, INITIAL, 6, 7)
    values = held([write(0, 5, 0, 1), long, higher, probe])

    assert values.higher_read(0, values.moments(probe)[0]) == higher


def test_only_a_later_value_of_the_same_register_replaced_one() -> None:
    elsewhere = [replace(write(i, 1, i, i), resource="r1") for i in (5, 6)]
    zones = zones_of(gather(history_of([write(0, 1, 0, 1), write(1, 2, 2, 3), *elsewhere])))
    of_r0 = zones.of_resource(0)

    found = replaced_by(zones, of_r0, np.full(len(of_r0), UNRANKED), np.arange(len(zones.level)))

    assert found.tolist() == [*of_r0[1:], NOWHERE]


@pytest.mark.parametrize(
    ("strict", "tokens"),
    [(True, [3, 4]), (False, [2, 3])],
)
def test_a_stale_write_shows_a_loss_if_only_the_past_lets_it_through(strict: bool, tokens: list[int]) -> None:
    shown = [token for token in range(7) if first_stale([(token, 6, 7)], strict=strict) is not None]

    assert shown == tokens


def test_token_0_shows_a_loss_of_token_1() -> None:
    assert first_stale([(0, 6, 7)], strict=False, past=0, mark=1) == 0


def test_the_stale_write_that_was_sent_first_shows_the_loss() -> None:
    assert first_stale([(3, 6, 20), (3, 7, 8)], strict=True) == 0
    assert first_stale([(3, 4, 20), (3, 7, 8)], strict=True) == 1


def first_stale(
    spans: Sequence[tuple[int, int, int]], *, strict: bool, past: int = 2, mark: int = 4
) -> int | None:
    """Which of these stale writes (token, call, return) shows that the mark fell to `past` by the moment 5?"""
    writes = [write(index, token, called, returned) for index, (token, called, returned) in enumerate(spans)]
    values = held([*writes, write(len(writes), 9, 5, 30)])
    moment, _ = values.moments(write(len(writes), 9, 5, 30))
    storage = StorageFacts(fenced=True, strict=strict, restarts=Faults(()))
    found = StaleWrites(storage, values, writes).first_after(moment, past, mark)
    return None if found is None else found.index
