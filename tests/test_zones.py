"""A value's zone: which operations prove when it was there, on literal registers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from brute_force import history_of, read, renumbered, write

from checkers.conflict import Rule
from checkers.evidence import gather
from checkers.records import Commit, Header, Op, Outcome
from checkers.zones import Register, flip_flops, initial_zone, registers, went_back, written_zone


def register(*operations: Op) -> Register:
    (found,) = registers(gather(history_of(renumbered(operations))))
    return found


def test_a_value_was_there_before_another_only_if_it_was_settled_before_the_others_last_call():
    zone = written_zone(write(0, 1, 0, 5), [], (), acknowledged=True)
    touching = written_zone(write(1, 2, 5, 6), [], (), acknowledged=True)
    later = written_zone(write(1, 2, 6, 7), [], (), acknowledged=True)

    assert zone.surely_before(later)
    assert not zone.surely_before(touching)


def test_values_that_touch_at_a_moment_are_no_flip_flop():
    def zones(read_at: int):
        one = written_zone(write(0, 1, 0, 1), [read(2, ("v0", 1), read_at, 9)], (), acknowledged=True)
        return [one, written_zone(write(1, 2, 2, 5), [], (), acknowledged=True)]

    touching, overtaken = zones(5), zones(6)

    assert list(flip_flops(touching)) == []
    assert list(flip_flops(overtaken)) == [tuple(overtaken)]


def test_what_went_back_to_a_lower_token_is_a_stale_read_and_to_another_is_not():
    seen = read(2, ("v0", 1), 6, 9)
    low = written_zone(write(0, 1, 0, 1), [seen], (), acknowledged=True)
    high = written_zone(write(1, 2, 2, 5), [], (), acknowledged=True)
    level = replace(high, token=1)

    assert (went_back(low, high).anomaly, went_back(low, high).accused) == ("stale-read", seen)
    assert went_back(low, level).anomaly == "non-linearizable"
    assert went_back(replace(low, token=3), high).anomaly == "non-linearizable"


def test_a_write_that_was_not_acknowledged_is_settled_by_what_read_it():
    failed = replace(write(0, 1, 0, 2, "stale"), index=0)
    seen = read(1, ("v0", 1), 3, 9)

    zone = written_zone(failed, [seen], (), acknowledged=False)

    assert (zone.settled, zone.settled_by, zone.proof) == (9, seen, (failed, seen))
    assert (zone.claimed, zone.claimed_by) == (3, seen)


def test_the_initial_value_stands_before_every_place_of_a_log():
    zone = initial_zone(Header(target="t"), ())

    assert zone.places == (-1,)
    assert zone.proof == ()


@pytest.mark.parametrize("seen", [("x", 0), (None, 5)], ids=str)
def test_a_read_is_of_the_initial_value_only_with_its_value_and_its_token(seen):
    (misread,) = register(read(0, seen, 0, 1)).misreads

    assert misread.rule is Rule.VALUE_OF_NOBODY


def test_a_write_without_a_token_and_without_an_answer_hides_nothing_that_follows():
    bare = replace(write(0, 0, 0, 1, "info"), token=None)

    found = register(bare, write(1, 4, 2, 3), write(2, 5, 4, 5, "info"))

    assert [zone.token for zone in found.written] == [4]
    assert [op.token for op in found.optional] == [5]
    assert found.bare == ()


def test_with_a_log_the_writes_that_stand_in_it_took_effect():
    operations = renumbered([write(0, 1, 0, 1), write(1, 2, 2, 3), write(2, 3, 4, 5, "info")])
    log = [
        Commit(seq=1, resource="r0", token=1, value="v0"),
        Commit(seq=2, resource="r0", token=3, value="v2"),
    ]

    (found,) = registers(gather(history_of(operations), log))

    assert [(zone.token, zone.places, zone.settled) for zone in found.written] == [
        (1, (0,), 1),
        (3, (1,), float("inf")),
    ]
    assert [op.outcome for op in found.optional] == [Outcome.OK]
