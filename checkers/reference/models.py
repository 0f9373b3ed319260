"""Reference definitions of registers and locks in any harness's words: precedence graphs, slow and plain.

As in `storages`, a history is right iff some choice of the unknowns gives a graph
without a cycle.

**Register**, with or without compare-and-set, for any values. The unknown is which write each
read saw, among the writes of the value that it returned. Each write and the operations that
saw it form a block. A `cas` saw the write whose value it expected. Nothing comes between
the two blocks, so together they are a block. A failed `cas` saw a write of another
value than the one it expected; if it reports the value that it found, that one.

**Mutex**, which any client or only the owner can release. The unknown is which release ended
which hold. A hold that nothing ended was the last. An acquire and its release are a block.

In both, an operation that ended in info took effect if the choice needs it; otherwise it need
not have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.operation import NO_VALUE, Operation, expected_and_new, owner_of
from checkers.history.records import Outcome
from checkers.reference.precedence import INITIAL, Block, Node, Precedence, Why

_STORES = frozenset({"write", "cas"})

_NEVER = -1
"""Replaces the release of a hold that nothing ended."""


def is_register(operations: Sequence[Operation], initial: Hashable = None) -> bool:
    """Can one register with read, write and cas have answered like this?"""
    return _can_see(RegisterOfOne(operations=operations, initial=initial), {})


def is_mutex(operations: Sequence[Operation], *, owned: bool = True) -> bool:
    """Can one lock have answered like this? `owned`: only the client that acquired it can release it."""
    return _can_end(LockOfOne(operations=operations, owned=owned), {})


def _can_see(register: RegisterOfOne, sources: Mapping[int, Node]) -> bool:
    """Can each operation that must have seen a write be given one without a cycle?"""
    if not register.order(sources).saturate():
        return False
    left = next((position for position in register.seers(sources) if position not in sources), None)
    if left is None:
        return True
    return any(_can_see(register, {**sources, left: source}) for source in register.possible_sources(left))


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
        writes = [
            position for position in range(len(self.operations)) if self._is_effective(position, sources)
        ]
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


def _can_end(lock: LockOfOne, ends: Mapping[int, int]) -> bool:
    """Can each release be matched with its hold, and each hold with its end, without a cycle?"""
    if not lock.order(ends).saturate():
        return False
    return lock.is_complete(ends) or any(_can_end(lock, {**ends, **end}) for end in lock.next_ends(ends))


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOfOne:
    """The operations on one lock; `ends` maps the position of an acquire to its release."""

    operations: Sequence[Operation]
    owned: bool

    def is_complete(self, ends: Mapping[int, int]) -> bool:
        """Is every operation that certainly took effect part of a hold?"""
        return not self._left("acquire", Outcome.OK, ends) and not self._left("release", Outcome.OK, ends)

    def next_ends(self, ends: Mapping[int, int]) -> Iterator[dict[int, int]]:
        """Yield the holds that one release can have ended; once all have one, the ends of one hold."""
        for release in self._left("release", Outcome.OK, ends)[:1]:
            for acquire in self._left("acquire", None, ends):
                if self._go_together(acquire, release):
                    yield {acquire: release}
            return
        for acquire in self._left("acquire", Outcome.OK, ends)[:1]:
            yield {acquire: _NEVER}
            for release in self._left("release", Outcome.INFO, ends):
                if self._go_together(acquire, release):
                    yield {acquire: release}

    def order(self, ends: Mapping[int, int]) -> Precedence:
        """Return the precedence graph of the holds whose ends have been chosen."""
        present = sorted({*ends, *ends.values()} - {_NEVER})
        order = Precedence({each: self.operations[each] for each in present})
        for acquire, release in ends.items():
            if release == _NEVER:
                for other in present:
                    if other != acquire:
                        order.add(other, Why.NEVER_RELEASED, acquire)
                continue
            order.add(acquire, Why.HELD, release)
            order.blocks.append(_hold(acquire, release))
        return order

    def _left(self, f: str, outcome: Outcome | None, ends: Mapping[int, int]) -> list[int]:
        """Return the positions of acquires or releases outside any hold yet; None: ok and info ones."""
        outcomes = {Outcome.OK, Outcome.INFO} if outcome is None else {outcome}
        return [
            position
            for position, op in enumerate(self.operations)
            if op.f == f and op.outcome in outcomes and position not in {*ends, *ends.values()}
        ]

    def _go_together(self, acquire: int, release: int) -> bool:
        return not self.owned or owner_of(self.operations[acquire]) == owner_of(self.operations[release])


def _hold(acquire: int, release: int) -> Block:
    return Block(first=acquire, members=(acquire, release), over=Why.ONE_HOLDER, begun=Why.ONE_HOLDER)
