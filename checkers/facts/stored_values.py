"""The values of a commit log among the values of its history: compare first, look up only what is left.

Comparing two values takes much less time than looking one up, so each commit is first compared
with a write that has its token. Everything is in the log's own order, since neighbours there are
close to each other in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.history.columns import ABSENT, APPEND, FAIL, WRITE, Columns, Ints, indices
from checkers.history.commit_columns import CommitColumns
from checkers.history.ranks import Scale, stable_order
from checkers.history.records import Value


def numbers_of_stored(columns: Columns, log: CommitColumns, resource: Ints) -> Ints:
    """Return the number that each commit's value has in the history, or -1.

    `resource` is the number that each commit's resource has in the history.
    """
    stored, values = _objects(log.values)[log.value], _objects(columns.values)
    numbers = np.full(len(log), -1, dtype=np.int64)
    tried, rows = _with_same_tokens(columns, log, resource)
    sent = columns.value[rows]
    same = indices(stored[tried] == values[sent])
    numbers[tried[same]] = sent[same]
    is_found = np.zeros(len(values), dtype=np.bool_)
    is_found[sent[same]] = True
    for candidates in (indices(~is_found), indices(is_found)):
        rest = indices((numbers < 0) & ~log.fence)
        if len(rest):
            wanted = stored[rest].tolist()
            numbers[rest] = places_of(wanted, values[candidates].tolist(), candidates.tolist())
    return numbers


def places_of(values: Sequence[Value], table: Sequence[Value], numbers: Sequence[int]) -> list[int]:
    """Return the number of each value in a table with these numbers: the first if it has several, or -1."""
    wanted = set(values)
    known = zip(reversed(table), reversed(numbers), strict=True)
    found = {value: number for value, number in known if value in wanted}
    return [found.get(value, -1) for value in values]


def _with_same_tokens(columns: Columns, log: CommitColumns, resource: Ints) -> tuple[Ints, Ints]:
    """Return places in the log, each with the row of a write with its token that did not fail.

    If a token is used several times, its n-th commit is paired with its n-th write by call.
    """
    writes = columns.rows(WRITE, APPEND)
    writes = writes[columns.outcome[writes] != FAIL]
    scale = Scale(log.token, len(columns.resources) + len(log.resources))
    sent = scale.heights(columns.resource[writes], columns.token[writes])
    logged = scale.heights(resource, np.where(log.fence, ABSENT, log.token))
    by_sent, by_logged = stable_order(sent), stable_order(logged)
    sent, logged = sent[by_sent], logged[by_logged]
    places = np.arange(len(logged))
    is_first = np.ones(len(logged), dtype=np.bool_)
    is_first[1:] = logged[1:] != logged[:-1]
    which = places - np.maximum.accumulate(np.where(is_first, places, 0))
    candidate = np.searchsorted(sent, logged) + which
    known = indices((candidate < len(sent)) & (logged > 0))
    known = known[sent[candidate[known]] == logged[known]]
    row = np.full(len(log), -1, dtype=np.int64)
    row[by_logged[known]] = writes[by_sent[candidate[known]]]
    tried = indices(row >= 0)
    return tried, row[tried]


def _objects(values: Sequence[Value]) -> NDArray[Any]:
    """Return values as an array, with a list as a single element."""
    return np.fromiter(values, dtype=np.object_, count=len(values))
