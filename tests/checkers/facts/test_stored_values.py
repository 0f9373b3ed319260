"""The values of a commit log: found by their tokens, or else by the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from checkers.facts.stored_values import _with_same_tokens, numbers_of_stored
from checkers.history.columns import Columns, Numbers
from checkers.history.commit_columns import CommitColumns
from checkers.history.records import Commit, Op
from tests.support.brute_force import renumbered, write


def columns_of(
    operations: Sequence[Op], commits: Sequence[tuple[str, int | None, str | None]]
) -> tuple[Columns, CommitColumns, np.ndarray]:
    """Of a history and its log: a commit has its resource, its token, and no value if it is a fence."""
    columns = Columns.of(renumbered(operations))
    log = CommitColumns.of(
        Commit(seq=seq, resource=resource, token=token, value=value, fence=value is None)
        for seq, (resource, token, value) in enumerate(commits)
    )
    known = Numbers(*columns.resources)
    return columns, log, np.array([known[resource] for resource, _, _ in commits])


FAR = 1 << 61
FIRST, AGAIN, LATER = write(0, 2, 0, 1), write(1, 2, 2, 3), write(2, 5, 4, 5)
WITHOUT = replace(FIRST, token=None)


@pytest.mark.parametrize(
    ("operations", "commits", "pairs"),
    [
        ([FIRST, AGAIN, LATER], [("r0", 2, "a"), ("r0", 5, "b"), ("r0", 2, "c")], [(0, 0), (1, 2), (2, 1)]),
        ([FIRST, AGAIN, LATER], [("r0", 1, "d"), *[("r0", 2, "a")] * 3], [(1, 0), (2, 1)]),
        ([FIRST, LATER], [("r0", 5, "b"), ("r0", 4, "c"), ("r0", 9, "d")], [(0, 1)]),
        ([replace(FIRST, f="append"), LATER], [("r0", 2, "a")], [(0, 0)]),
        ([write(0, 2, 0, 1, "stale"), AGAIN], [("r0", 2, "a")], [(0, 1)]),
        ([FIRST], [("r0", 2, None)], []),
        ([replace(FIRST, token=0)], [("r0", 0, "a")], [(0, 0)]),
        ([WITHOUT], [("r0", None, "a"), ("r0", 2, None)], []),
        (
            [replace(write(i, FAR, 0, 1), resource=f"r{i}") for i in range(5)],
            [*((f"r{i}", FAR, "a") for i in range(5)), ("r4", 0, "b")],
            [(i, i) for i in range(5)],
        ),
    ],
    ids=[
        "in turn",
        "more commits",
        "no write",
        "an append",
        "refused",
        "a fence",
        "token 0",
        "no token",
        "far apart",
    ],
)
def test_a_commit_is_compared_with_the_write_that_has_its_token(
    operations: list[Op], commits: list[tuple[str, int | None, str | None]], pairs: list[tuple[int, int]]
) -> None:
    places, rows = _with_same_tokens(*columns_of(operations, commits))

    assert list(zip(places.tolist(), rows.tolist(), strict=True)) == pairs


def test_a_value_is_found_whatever_its_token() -> None:
    columns, log, resource = columns_of(
        [FIRST, AGAIN, LATER],
        [("r0", 2, "v0"), ("r0", 9, "v2"), ("r0", 2, "v0"), ("r0", 3, None), ("r0", 4, "v9")],
    )

    found = numbers_of_stored(columns, log, resource).tolist()

    assert found == [columns.values.index("v0"), columns.values.index("v2"), found[0], -1, -1]
