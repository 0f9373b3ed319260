"""When the values of a register were there: what a read proves, and what the commit log says of writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import gather
from checkers.history.commit_log import UNRECORDED
from checkers.history.ranks import UNRANKED
from checkers.history.records import Commit, Op
from checkers.rules.non_linearizable.misreads import misreads
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.commit_logs import log


def zones(operations: Sequence[Op], commits: Sequence[Commit] | None = None) -> ZoneColumns:
    return zones_of(gather(history_of(renumbered(operations)), commits, same_run=True))


def test_a_read_without_a_token_is_of_the_value_that_it_returned() -> None:
    found = zones([write(0, 1, 0, 1), replace(read(1, ("v0", 1), 2, 3), token=None)])

    assert found.reads.tolist() == [1]


@pytest.mark.parametrize(("commit", "is_wrong"), [((5, "v0"), False), ((1, "v0"), True)])
def test_a_read_of_what_was_stored_with_another_token_is_right(
    commit: tuple[int, str], is_wrong: bool
) -> None:
    operations = [
        write(9, 9, 0, 1),
        *(replace(op, resource="r1") for op in (write(0, 1, 0, 1), read(1, ("v0", 5), 2, 3))),
    ]
    stored = [Commit(seq=0, resource="r1", token=commit[0], value=commit[1])]

    found = zones(operations, [*log((9, "v9")), *stored])

    assert found.wrong_token_reads[0].tolist() == [2] * is_wrong


def test_a_read_of_null_that_was_stored_with_another_token_is_right() -> None:
    found = zones(
        [replace(write(0, 1, 0, 1), value=None), read(1, (None, 5), 2, 3)],
        [Commit(seq=0, resource="r0", token=5, value=None)],
    )

    assert found.wrong_token_reads[0].tolist() == []


def test_what_nobody_sent_to_one_register_excuses_no_read_of_another() -> None:
    unsent = Commit(seq=9, resource="r1", token=7, value="v7")

    found = zones([write(0, 1, 0, 1), read(1, ("v0", 5), 2, 3)], [*log((1, "v0")), unsent])

    assert found.wrong_token_reads[0].tolist() == [1]


def test_only_an_acknowledged_logged_write_was_there_when_it_returned() -> None:
    operations = [
        write(0, 1, 0, 1),
        write(1, 2, 2, 3, "info"),
        write(2, 3, 4, 5, "stale"),
        write(3, 4, 6, 7),
        read(4, ("v3", 4), 8, 9),
    ]

    found = zones(operations, log((1, "v0"), (2, "v1"), (3, "v2")))

    own = found.ranks.returned
    assert found.settled.tolist() == [found.ranks.start[0], own[0], UNRANKED, UNRANKED, own[4]]


def test_the_first_read_of_a_write_is_that_called_first() -> None:
    found = zones(
        [write(0, 1, 0, 1), read(1, ("v0", 1), 4, 5), read(2, ("v0", 1), 2, 3), write(3, 2, 6, 7, "info")]
    )

    assert [op.called for op in found.first_read_of_write(0)] == [2]
    assert found.first_read_of_write(3) == ()


def test_a_read_of_a_value_that_nobody_wrote_has_no_write_to_show() -> None:
    (found,) = misreads(zones([read(0, ("v9", 1), 0, 1), write(1, 2, 2, 3)]))

    assert (found.accused.index, found.because) == (0, ())


def test_the_first_operation_can_be_marked_and_an_unrecorded_one_cannot() -> None:
    found = zones([write(0, 1, 0, 1), write(1, 2, 2, 3)])
    unrecorded = replace(write(0, 9, 0, 1), index=UNRECORDED)

    assert found.recorded.flags_of([found.ops[0], unrecorded]).tolist() == [True, False]
