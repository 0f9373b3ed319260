"""The reference definition of a register in any harness's words: a precedence graph, slow and plain.

As in `storages`, a history is right iff some choice of the unknowns gives a graph without a cycle.

The register may have compare-and-set, and any values. The unknown is which write each read saw, among the
writes of the value that it returned. Each write and the operations that saw it form a block. A `cas` saw the
write whose value it expected. Nothing comes between the two blocks, so together they are a block. A failed
`cas` saw a write of another value than the one it expected; if it reports the value that it found, that one.
An operation that ended in info took effect if the choice needs it; otherwise it need not have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.operation import NO_VALUE, Operation, expected_and_new
from checkers.history.records import Outcome
from checkers.reference.precedence import INITIAL, Block, Node, Precedence, Why

_STORES = frozenset({"write", "cas"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOfOne:
    """The operations on one register, named by position."""

    operations: Sequence[Operation]
    initial: Hashable

    def seers(self, sources: Mapping[int, Node]) -> Iterator[int]:
        """Yield the operations that saw a written value: reads, and cas that failed or took effect."""
        for position, op in enumerate(self.operations):
            if op.f == "cas":
                saw = op.outcome is not Outcome.INFO or position in sources.values()
            else:
                saw = op.f == "read" and op.outcome is Outcome.OK and op.output is not NO_VALUE
            if saw:
                yield position

    def possible_sources(self, seer: int) -> Iterator[Node]:
        """Yield the writes whose value the operation can have seen."""
        if self._can_have_seen(seer, self.initial):
            yield INITIAL
        for position, op in enumerate(self.operations):
            if op.f not in _STORES or op.outcome is Outcome.FAIL or position == seer:
                continue
            if self._can_have_seen(seer, _written(op)):
                yield position

    def _can_have_seen(self, seer: int, value: Hashable) -> bool:
        op = self.operations[seer]
        if op.f == "read":
            return op.output == value
        expected, _ = expected_and_new(op.input)
        if op.outcome is Outcome.FAIL:
            return value != expected and op.output in {NO_VALUE, value}
        return value == expected

    def order(self, sources: Mapping[int, Node]) -> Precedence:
        """Return the precedence graph for these sources; an operation without one saw nothing."""
        positions = range(len(self.operations))
        writes = [position for position in positions if self._is_effective(position, sources)]
        order = Precedence({each: self.operations[each] for each in sorted({*writes, *sources})})
        order.put_first(INITIAL)
        values: dict[Node, tuple[Node, ...]] = {INITIAL: (INITIAL,)}
        values.update((write, (write,)) for write in writes)
        for seer, source in sources.items():
            order.add(source, Why.READ_FROM, seer)
            if seer not in values:
                values[source] = (*values[source], seer)
        order.blocks.extend(Block(first=first, members=members) for first, members in values.items())
        order.blocks.extend(
            Block(first=source, members=(*values[source], *values[seer]))
            for seer, source in sources.items()
            if seer in values
        )
        return order

    def _is_effective(self, position: int, sources: Mapping[int, Node]) -> bool:
        op = self.operations[position]
        return op.f in _STORES and (op.outcome is Outcome.OK or position in sources.values())


def _written(op: Operation) -> Hashable:
    if op.f == "write":
        return op.input
    _, new = expected_and_new(op.input)
    return new
