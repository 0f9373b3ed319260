"""What a page asks of all operations, on columns: by line, by key, by token."""

from __future__ import annotations

import numpy as np
import pytest

from checkers.history.columns import ABSENT, Operations
from checkers.history.reader import parse
from harness.report.rows import Grants, GroupedRows, Lines, ends

HISTORY = parse(
    [
        '{"fencepost":1,"target":"t","fenced":true,"policy":"strict","ttl":2000}',
        '{"time":10,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"a"}',
        '{"time":20,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"a","token":7,"ttl":2000}',
        '{"time":30,"process":1,"type":"invoke","f":"acquire","resource":"r0","owner":"b"}',
        '{"time":40,"process":1,"type":"fail","f":"acquire","resource":"r0","owner":"b","error":"busy"}',
        '{"time":50,"process":0,"type":"invoke","f":"write","resource":"r0","token":7,"value":"x"}',
        '{"time":60,"process":0,"type":"info","f":"write","resource":"r0","token":7,"value":"x"}',
        '{"time":70,"process":1,"type":"invoke","f":"acquire","resource":"r1","owner":"b"}',
        '{"time":80,"process":1,"type":"ok","f":"acquire","resource":"r1","owner":"b","token":7,"ttl":2000}',
    ]
)
OPERATIONS = Operations.of(HISTORY.operations)


@pytest.mark.parametrize(("line", "index"), [(2, 0), (3, 0), (4, 1), (7, 2), (9, 3)])
def test_an_operation_is_found_by_either_line(line: int, index: int) -> None:
    found = Lines(OPERATIONS).find(line)

    assert found is HISTORY.operations[index]


@pytest.mark.parametrize("line", [0, 1, 10, 10**17])
def test_a_line_without_an_operation_finds_none(line: int) -> None:
    assert Lines(OPERATIONS).find(line) is None


def test_an_operation_ends_when_its_client_stopped_waiting() -> None:
    assert ends(OPERATIONS.columns).tolist() == [20, 40, 60, 80]


def test_grants_are_the_acquires_that_succeeded() -> None:
    grants = Grants(OPERATIONS)

    assert grants.rows.tolist() == [0, 3]
    assert [grants.has(row) for row in range(5)] == [True, False, False, True, False]


def test_a_token_is_of_one_resource() -> None:
    grants = Grants(OPERATIONS)

    assert grants.like(HISTORY.operations[2]).tolist() == [0]
    assert grants.like(HISTORY.operations[3]).tolist() == [3]
    assert grants.of_resource("r1").tolist() == [3]


def test_an_owner_that_was_never_granted_the_lock_has_no_grant() -> None:
    assert not len(Grants(OPERATIONS).like(HISTORY.operations[1]))


def test_rows_of_a_key_keep_their_order() -> None:
    groups = GroupedRows(np.array([5, 6, 7, 8]), np.array([2, 1, 2, 2]))

    assert [groups.of(key).tolist() for key in (0, 1, 2)] == [[], [6], [5, 7, 8]]


def test_the_greatest_value_of_a_key_is_absent_where_no_row_has_it() -> None:
    groups = GroupedRows(np.array([5, 6, 7]), np.array([2, 1, 2]))

    assert groups.greatest(np.array([10, 20, 30]), np.array([1, 2, 3, 0])).tolist() == [
        20,
        30,
        ABSENT,
        ABSENT,
    ]


def test_the_greatest_value_of_no_rows_is_absent() -> None:
    nothing = np.array([], dtype=np.int64)

    assert GroupedRows(nothing, nothing).greatest(nothing, np.array([4])).tolist() == [ABSENT]
