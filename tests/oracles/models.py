"""Definitions of a right register and a right lock, in any harness's words: slow and plain.

A history is right iff some choice of the unknowns gives a graph without a cycle (see
`checkers.reference.precedence`). For a register, `checkers.reference.models` says what is chosen.

**Mutex**, which any client or only the owner can release. The unknown is which release ended
which hold. A hold that nothing ended was the last. An acquire and its release are a block. An
operation that ended in info took effect if the choice needs it; otherwise it need not have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.operation import Operation, owner_of
from checkers.history.records import Outcome
from checkers.reference.models import RegisterOfOne
from checkers.reference.precedence import Block, Node, Precedence, Why

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
