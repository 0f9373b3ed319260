"""Accepted writes, placed in time."""

from __future__ import annotations

import numpy as np

from checkers.history.reader import Commit, History
from harness.report.commit_times import AcceptedWrites, accepted
from tests.support.report_folder import HEADER, STALE, operation, recorded


def placed(found: AcceptedWrites) -> list[tuple[object, int]]:
    """The value of each accepted write, and when it is drawn."""
    values = [write.value for write in found.writes(np.arange(len(found.at)))]
    return list(zip(values, found.at.tolist(), strict=True))


def test_accepted_writes_are_placed_in_order_and_within_their_calls() -> None:
    run = recorded(STALE)
    commits = (
        Commit(seq=1, resource="r0", token=2, value="new"),
        Commit(seq=2, resource="r0", token=1, value="old"),
    )

    assert placed(accepted(run, commits)) == [("new", 1145), ("old", 1175)]


def test_a_write_that_was_held_up_is_placed_after_the_one_that_overtook_it() -> None:
    operations = (
        operation(0, called=0, returned=100, token=1, value="held up"),
        operation(1, called=60, returned=80, token=2, value="overtook"),
    )
    run = History(header=recorded(HEADER + "\n").header, operations=operations)
    commits = (
        Commit(seq=1, resource="r0", token=2, value="overtook"),
        Commit(seq=2, resource="r0", token=1, value="held up"),
    )

    found = accepted(run, commits)

    assert found.earliest.tolist() == [60, 60]
    assert found.latest.tolist() == [80, 100]
    assert [value for value, _ in placed(found)] == ["overtook", "held up"]


def test_without_a_log_writes_are_placed_where_clients_saw_them() -> None:
    assert placed(accepted(recorded(STALE), None)) == [("new", 1150), ("old", 1180)]
