"""Algorithms R and C: a register, without and with compare-and-set, whose values are written once each.

**R.** A value's *cluster* is its write and the reads that returned it. As the value is written once, no
operation comes between them, so clusters are blocks (see `blocks`), and the operations can be ordered iff

1. every value that was seen is the initial one or was written, by a write that is known to have taken effect
   or may have; and none was seen before its write was called (`settled < called(write)`);
2. no two clusters must each come before the other.

Ignored: reads without an answer, writes that failed, and infos whose value was never seen: they need not have
taken effect, and without them there is less to order. An info whose value was seen did take effect; it has no
return, so it settles nothing. The initial value is a cluster that settled before everything.

**C.** A `cas` from a to b that took effect comes directly after a's cluster and begins
b's, so clusters form chains. The cas that replaced a value also saw it, if that cas
counts: it is ok, or an info whose own value was seen, so infos are found backwards along
their chains. A cas that failed is a read of the value that it found. These are also wrong:

3. a cas failed although it found the value that it expected;
4. two that count replaced the same value, which was there only once;
5. they follow each other in a cycle: none of its values can have been the first;
6. along a chain an operation of a later cluster had returned before one of an earlier
   cluster was called: `settled[later] < max(claimed[earlier])`.

The clusters of a chain that passes 6 can follow each other in its order with nothing in
between, so the chain is one block in rule 2. Together the rules are exact: each is necessary
for the reason given; and if none is broken, put the blocks in an order that 2 allows, each
chain in its own order, each cluster as its write, then its reads by their calls.

Repeated values are out of scope, and so is a failed cas without the value that it found.
Then `search` decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from checkers.history.columns import ABSENT, NEVER, Flags, Ints
from checkers.history.operation import Operation
from checkers.models.blocks import both_first
from checkers.models.budget import Budget
from checkers.models.model_verdict import Clash, Contradiction, ModelVerdict, OutOfScopeError
from checkers.models.objects import CasRegister
from checkers.models.register_columns import (
    CAS,
    FAILED_CAS,
    INITIAL,
    WRITE,
    RegisterColumns,
    register_columns,
)
from checkers.models.search import BUDGET, judge_each

_ALWAYS = ABSENT  # when the initial value was settled: before all times


def judge_register(
    operations: Sequence[Operation], initial: Hashable = None, budget: Budget = BUDGET
) -> ModelVerdict:
    """Judge registers with read, write and cas: by R and C if they decide, else by the search.

    Raises:
        ModelError: an operation has an answer but no return, or returned before its call.
    """
    return judge_each(
        operations,
        lambda positions: register_clash(register_columns(operations, positions, initial)),
        CasRegister(initial),
        budget,
    )


def register_clash(columns: RegisterColumns) -> Clash | None:
    """Return the operations that no order explains, or None if an order explains all.

    Raises:
        OutOfScopeError: a value was written twice, or the initial one was.
    """
    writers = _writers(columns)
    counted = _counted(columns, writers)
    kept = counted[columns.value]
    clusters = _blocks(columns, kept, np.arange(columns.values))
    return (
        _never_written(columns, writers, counted)
        or _seen_before_written(clusters, writers)
        or _matched_but_failed(columns)
        or _out_of_order(clusters)
    )


def _writers(columns: RegisterColumns) -> Ints:
    """Return the row that writes each value, -1 where there is none."""
    rows = np.flatnonzero((columns.kind == WRITE) | (columns.kind == CAS))
    values = columns.value[rows]
    times = np.bincount(values, minlength=columns.values)
    times[INITIAL] += 1
    if times.max() > 1:
        raise OutOfScopeError("a value was written more than once")
    writers = np.full(columns.values, -1)
    writers[values] = rows
    return writers


def _counted(columns: RegisterColumns, writers: Ints) -> Flags:
    """Return the values that the register certainly had: seen, or written by an ok."""
    counted = np.zeros(columns.values, dtype=np.bool_)
    counted[columns.value[columns.returned != NEVER]] = True
    frontier = np.flatnonzero(counted)
    while len(frontier):  # a cas that counts replaced a value that was there, too
        by = writers[frontier]
        by = by[by >= 0]
        replaced = columns.expected[by[columns.kind[by] == CAS]]
        frontier = replaced[~counted[replaced]]
        counted[frontier] = True
    return counted


class _Blocks(NamedTuple):
    """Values in blocks, and the moments of each block."""

    columns: RegisterColumns
    kept: Flags  # the rows that count
    block: Ints  # of each value: the value that names it
    settled: Ints  # by block
    claimed: Ints  # by block

    def settler(self, block: int) -> int:
        """Return the row of the block's first return."""
        rows = self._rows(block)
        return int(rows[self.columns.returned[rows].argmin()])

    def claimer(self, block: int) -> int:
        """Return the row of the block's last call."""
        rows = self._rows(block)
        return int(rows[self.columns.called[rows].argmax()])

    def _rows(self, block: int) -> Ints:
        return np.flatnonzero(self.kept & (self.block[self.columns.value] == block))


def _blocks(columns: RegisterColumns, kept: Flags, block: Ints) -> _Blocks:
    blocks = block[columns.value[kept]]
    settled = np.full(columns.values, NEVER)
    np.minimum.at(settled, blocks, columns.returned[kept])
    settled[block[INITIAL]] = _ALWAYS
    claimed = np.full(columns.values, _ALWAYS)
    np.maximum.at(claimed, blocks, columns.called[kept])
    return _Blocks(columns, kept, block, settled, claimed)


def _clash(columns: RegisterColumns, contradiction: Contradiction, *rows: int) -> Clash:
    return Clash(contradiction=contradiction, operations=tuple(int(columns.position[row]) for row in rows))


def _never_written(columns: RegisterColumns, writers: Ints, counted: Flags) -> Clash | None:
    unwritten = counted & (writers < 0)
    unwritten[INITIAL] = False
    if not unwritten.any():
        return None
    wrote = columns.kind == CAS
    seen = unwritten[np.where(wrote, columns.expected, columns.value)] & (counted[columns.value] | ~wrote)
    return _clash(columns, Contradiction.NEVER_WRITTEN, int(seen.argmax()))


def _seen_before_written(clusters: _Blocks, writers: Ints) -> Clash | None:
    columns = clusters.columns
    written = np.flatnonzero(writers >= 0)
    early = written[clusters.settled[written] < columns.called[writers[written]]]
    if not len(early):
        return None
    value = int(early[0])
    return _clash(columns, Contradiction.SEEN_BEFORE_WRITTEN, clusters.settler(value), int(writers[value]))


def _matched_but_failed(columns: RegisterColumns) -> Clash | None:
    matched = (columns.kind == FAILED_CAS) & (columns.value == columns.expected)
    return _clash(columns, Contradiction.MATCHED_BUT_FAILED, int(matched.argmax())) if matched.any() else None


def _out_of_order(clusters: _Blocks) -> Clash | None:
    columns, kept = clusters.columns, clusters.kept
    swaps = np.flatnonzero(kept & (columns.kind == CAS))
    if not len(swaps):
        return _both_first(clusters)
    if clash := _two_successors(columns, swaps):
        return clash
    chains = _chains(columns, swaps)
    return (
        _cycle(columns, swaps, chains)
        or _chain_against_time(clusters, chains)
        or _both_first(_blocks(columns, kept, chains.block))
    )


def _two_successors(columns: RegisterColumns, swaps: Ints) -> Clash | None:
    times = np.bincount(columns.expected[swaps])
    if times.max() <= 1:
        return None
    rows = swaps[columns.expected[swaps] == times.argmax()]
    return _clash(columns, Contradiction.TWO_SUCCESSORS, int(rows[0]), int(rows[1]))


class _Chains(NamedTuple):
    """The values linked by cas, chain after chain, each in its order."""

    values: Ints
    number: Ints  # of the chain, for each of `values`
    block: Ints  # for every value of the register: the first of its chain, or itself


def _chains(columns: RegisterColumns, swaps: Ints) -> _Chains:
    """Follow each chain from the value that no cas wrote; cycles have none and are left out."""
    successors = np.full(columns.values, -1)
    successors[columns.expected[swaps]] = columns.value[swaps]
    first = successors >= 0
    first[columns.value[swaps]] = False
    heads = np.flatnonzero(first)
    follow = successors.tolist()
    values: list[int] = []
    ends: list[int] = []
    for head in heads.tolist():
        value = head
        while value >= 0:
            values.append(value)
            value = follow[value]
        ends.append(len(values))
    bounds = np.array([0, *ends], dtype=np.int64)
    lengths = bounds[1:] - bounds[:-1]
    block = np.arange(columns.values)
    ordered = np.array(values, dtype=np.int64)
    block[ordered] = np.repeat(heads, lengths)
    return _Chains(ordered, np.repeat(np.arange(len(heads)), lengths), block)


def _cycle(columns: RegisterColumns, swaps: Ints, chains: _Chains) -> Clash | None:
    chained = np.zeros(columns.values, dtype=np.bool_)
    chained[chains.values] = True
    left = swaps[~chained[columns.value[swaps]]]
    if not len(left):
        return None
    by_expected = dict(zip(columns.expected[left].tolist(), left.tolist(), strict=True))
    cycle = [int(left[0])]
    while (row := by_expected[int(columns.value[cycle[-1]])]) != cycle[0]:
        cycle.append(row)
    return _clash(columns, Contradiction.CIRCLE, *cycle)


def _chain_against_time(clusters: _Blocks, chains: _Chains) -> Clash | None:
    """Check rule 6 by the running maximum of the ranks of `claimed`, raised from chain to chain."""
    claimed = clusters.claimed[chains.values]
    settled = clusters.settled[chains.values]
    by_claimed = np.argsort(claimed, kind="stable")
    place = np.empty(len(claimed), dtype=np.int64)
    place[by_claimed] = np.arange(len(claimed))
    raised = chains.number * len(claimed)
    latest = by_claimed[np.maximum.accumulate(place + raised) - raised]
    same = chains.number[1:] == chains.number[:-1]
    late = np.flatnonzero(same & (settled[1:] < claimed[latest[:-1]]))
    if not len(late):
        return None
    later, earlier = int(chains.values[late[0] + 1]), int(chains.values[latest[late[0]]])
    return _clash(
        clusters.columns, Contradiction.CHAIN_AGAINST_TIME, clusters.settler(later), clusters.claimer(earlier)
    )


def _both_first(blocks: _Blocks) -> Clash | None:
    pair = both_first(blocks.settled, blocks.claimed)
    if pair is None:
        return None
    one, other = pair
    rows = [blocks.claimer(other), blocks.settler(other), blocks.claimer(one)]
    if one != blocks.block[INITIAL]:
        rows.insert(0, blocks.settler(one))
    return _clash(blocks.columns, Contradiction.BOTH_FIRST, *rows)
