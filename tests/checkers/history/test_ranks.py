"""Times and tokens as small numbers, on literal columns."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checkers.facts.high_water import HighWater
from checkers.history.columns import ABSENT, Columns, Operations
from checkers.history.ranks import (
    UNRANKED,
    Scale,
    Summit,
    distinct,
    heights,
    is_repeated,
    keys,
    places_in,
    rank,
    stable_order,
)
from checkers.history.reader import read
from tests.support.events import event, history_file
from tests.support.in_columns import in_columns

HIGHEST = 2**63 - 1


def written(*writes: tuple[str, int], and_read: bool = True) -> Columns:
    """Columns of a write for each resource and token, and of a read of the first resource that failed."""
    lines = [{"fencepost": 1, "target": "t"}]
    for i, (resource, token) in enumerate(writes):
        write = {"process": i, "f": "write", "resource": resource, "token": token, "value": f"v{i}"}
        lines += [write | {"time": 2 * i, "type": "invoke"}, write | {"time": 2 * i + 1, "type": "ok"}]
    read = {"process": 99, "f": "read", "resource": writes[0][0], "time": 1000}
    lines += [read | {"type": "invoke"}, read | {"type": "fail"}] * and_read
    operations = in_columns([json.dumps(line) + "\n" for line in lines]).operations
    assert isinstance(operations, Operations)
    return operations.columns


def test_heights_keep_the_order_of_tokens_and_of_resources() -> None:
    of_rows, initial = heights(written(("r0", 5), ("r1", 7), ("r0", 7), ("r1", 1)), 2)

    assert of_rows.tolist() == [5, 15, 7, 9, 0]
    assert initial.tolist() == [2, 10]


def test_tokens_of_one_resource_need_no_other_place() -> None:
    of_rows, initial = heights(written(("r0", 5), ("r0", 7)), 0)

    assert (of_rows.tolist(), initial.tolist()) == ([6, 8, 0], [1])


@pytest.mark.parametrize(
    ("tokens", "wanted", "start"),
    [
        ([("r0", HIGHEST), ("r0", 5)], [3, 2, 0], [1]),
        ([("r0", 2**62), ("r0", 5)], [3, 2, 0], [1]),
        ([("r0", 2**61), ("r1", 5), ("r2", 2**61)], [3, 6, 11, 0], [1, 5, 9]),
        ([("r0", 2**61 - 2), ("r0", 5)], [3, 2, 0], [1]),
        ([("r0", 2**61 - 3), ("r0", 5)], [2**61 - 2, 6, 0], [1]),
    ],
    ids=["the highest of all", "one of one resource", "of three resources", "just so", "not quite"],
)
def test_tokens_far_apart_are_numbered(
    tokens: list[tuple[str, int]], wanted: list[int], start: list[int]
) -> None:
    of_rows, initial = heights(written(*tokens), 0)

    assert (of_rows.tolist(), initial.tolist()) == (wanted, start)


def test_the_initial_token_is_numbered_too() -> None:
    of_rows, initial = heights(written(("r0", 2), ("r0", HIGHEST), and_read=False), 1)

    assert (of_rows.tolist(), initial.tolist()) == ([2, 3], [1])


def test_tokens_are_numbered_from_a_start_that_is_far_below() -> None:
    of_rows, initial = heights(written(("r0", HIGHEST), ("r1", 5)), -(2**62))

    assert (of_rows.tolist(), initial.tolist()) == ([3, 6, 0], [1, 5])


@pytest.mark.parametrize("far", [9, 2**61, HIGHEST])
def test_a_scale_puts_any_token_among_those_that_it_has(far: int) -> None:
    present, asked = [-4, 3, far], [-9, -4, 0, 3, 5, far, HIGHEST]
    scale = Scale(np.array([ABSENT, *present]), 2)
    resource = np.repeat([0, 1], len(present))
    marks = scale.heights(resource, np.array(present * 2))

    for below, number in ((0, 0), (len(present), 1)):
        of_resource = np.full(len(asked), number), np.array(asked)
        at_least = np.searchsorted(marks, scale.heights(*of_resource))
        above = np.searchsorted(marks, scale.above(*of_resource))
        assert at_least.tolist() == [below + bisect_left(present, token) for token in asked]
        assert above.tolist() == [below + bisect_right(present, token) for token in asked]


def test_no_token_is_below_the_lowest() -> None:
    scale = Scale(np.array([ABSENT, 0, HIGHEST]), 1)

    of_none, lowest, highest = scale.heights(np.zeros(3, dtype=np.int64), np.array([ABSENT, 0, HIGHEST]))
    assert of_none < lowest < highest


def test_a_log_without_tokens_has_a_scale() -> None:
    assert Scale(np.array([ABSENT]), 1).heights(np.array([0]), np.array([ABSENT])).tolist() == [0]


def test_moments_of_several_registers_have_ranks_that_do_not_mix() -> None:
    ranks = rank(written(("r0", 1), ("r1", 2)))

    assert ranks.called.tolist() == [2, 6, 4]
    assert ranks.returned.tolist() == [3, 7, 4]
    assert ranks.start.tolist() == [1, 5]


@pytest.mark.parametrize(
    "numbers",
    [
        [3, 1, 3, 2] * 50,
        [-3, 1, -3, 0] * 50,
        [2**62, 1, 2**62, 0] * 50,
        [2**55 - 1, 1, 2**55, 0] * 50,  # the place takes the other eight bits
        [1, 1, 2, 2],
        [7],
        [],
    ],
    ids=lambda numbers: str(numbers[:4]),
)
def test_equal_numbers_keep_their_order(numbers: list[int]) -> None:
    order = stable_order(np.array(numbers, dtype=np.int64))

    assert order.tolist() == sorted(range(len(numbers)), key=lambda place: numbers[place])


@pytest.mark.parametrize("far", [7, 10**6])
def test_how_many_numbers_are_below_another(far: int) -> None:
    ordered = np.array([1, 1, 3, far])

    assert places_in(ordered, np.array([0, 1, 2, 3, 4, far, far + 3])).tolist() == [0, 0, 2, 2, 3, 3, 4]


def test_numbers_that_came_before_are_reported() -> None:
    numbers = np.array([5, 2, 7, 7, 2, 7])

    assert is_repeated(numbers).tolist() == [False, False, False, True, True, True]
    assert [part.tolist() for part in distinct(numbers)] == [[2, 5, 7], [1, 0, 2, 2, 0, 2]]


def test_of_equal_heights_the_earliest_counts_then_the_first() -> None:
    summit = Summit(9, np.array([5, 2, 2, 7]), np.array([4, 4, 4, 6]))

    assert summit.entries_before(np.array([3, 6, 8])).tolist() == [1, 1, 3]
    assert summit.entries_before(np.array([3, 6, 8] * 10)).tolist() == [1, 1, 3] * 10
    assert summit.before(np.array([2, 3, 7, 8])).tolist() == [0, 4, 4, 6]
    assert summit.until(np.array([1, 2, 6, 7])).tolist() == [0, 4, 4, 6]


def test_a_summit_exceeds_another_only_where_it_is_higher() -> None:
    ranks = np.array([2, 4])
    one, other = (Summit(6, ranks, np.array(heights)) for heights in ((3, 5), (3, 4)))

    assert one.exceeds(other).tolist() == [False, False, False, False, True, True]
    assert not other.exceeds(one).any()


def test_times_are_ranked_register_by_register_and_equal_times_alike(two_registers: Path) -> None:
    operations = read(two_registers).operations
    assert isinstance(operations, Operations)

    ranks = rank(operations.columns)

    assert ranks.start.tolist() == [1, 5]
    assert ranks.called.tolist() == [2, 6, 3, 7]
    assert ranks.returned.tolist() == [3, 7, 4, 8]
    assert ranks.size == 9


def test_before_the_run_is_after_all_of_an_earlier_register(tmp_path: Path) -> None:
    path = history_file(
        tmp_path / "history.jsonl",
        event(1, "invoke", 0, "r0", "v0"),
        event(2, "ok", 0, "r0", "v0"),
        event(2, "invoke", 1, "r1", "v1"),  # at the same time
    )
    operations = in_columns(path.read_text().splitlines()).operations
    assert isinstance(operations, Operations)

    ranks = rank(operations.columns)

    assert ranks.returned.tolist() == [3, UNRANKED]
    assert ranks.start.tolist() == [1, 4]
    assert ranks.called.tolist() == [2, 5]
    assert ranks.size == 6


@pytest.mark.parametrize("by_line", [True, False])
def test_without_operations_a_table_has_one_place(by_line: bool) -> None:
    ranks = rank(replace(Columns.of([]), by_line=by_line))

    assert (ranks.called.tolist(), ranks.returned.tolist(), ranks.size) == ([], [], 1)


def test_of_equal_heights_the_earliest_counts_and_nothing_else_is_compared() -> None:
    first, second, third = object(), object(), object()
    water = HighWater([(1, 7, first), (1, 7, second), (2, 7, third)])

    assert water.before(1) is None
    assert water.before(2) == (7, first)
    assert water.before(3) == (7, first)


def test_many_questions_are_answered_as_one() -> None:
    ranks, heights = np.arange(2, 62, 3), np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3] * 2)
    summit = Summit(64, ranks, heights)
    asked = np.arange(3, 63)

    assert summit.entries_before(asked).tolist() == [
        summit.entries_before(asked[i : i + 1])[0] for i in range(60)
    ]
    assert summit.entries_before(np.array([3, 5, 6, 11, 12, 62])).tolist() == [0, 0, 0, 2, 2, 5]
    assert summit.entries_before(asked[:0]).dtype == np.int64


def test_lines_of_one_register_are_ranked_by_the_first_of_their_time(tmp_path: Path) -> None:
    pause = {
        "time": 2,
        "process": "nemesis",
        "type": "info",
        "f": "pause",
        "value": {"target": "c", "state": "in force"},
    }
    path = history_file(
        tmp_path / "history.jsonl",
        event(1, "invoke", 0, "r0", "v0"),  # line 2
        event(2, "ok", 0, "r0", "v0"),
        event(2, "invoke", 1, "r0"),
        pause,
        event(2, "ok", 1, "r0"),
        event(3, "invoke", 1, "r0"),  # line 7
        event(4, "ok", 1, "r0"),
        event(4, "invoke", 1, "r0"),
        event(5, "ok", 1, "r0"),
        event(6, "invoke", 2, "r0"),  # it has no answer
    )
    operations = read(path).operations
    assert isinstance(operations, Operations)

    ranks = rank(operations.columns)

    assert ranks.start.tolist() == [0]
    assert ranks.called.tolist() == [2, 3, 7, 8, 11]
    assert ranks.returned.tolist() == [3, 3, 8, 10, UNRANKED]


def test_a_key_is_above_those_of_lower_numbers_and_of_earlier_resources() -> None:
    one, other = keys((np.array([0, 1, 1]), np.array([7, 5, 5])), (np.array([0, 1]), np.array([5, 7])))

    assert other[0] < one[0] < one[1] == one[2] < other[1]
