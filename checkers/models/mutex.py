"""Algorithm L: a lock without leases that only its holder can release.

No operation comes between an acquire and the release of the same hold, so a hold is a block
(see `blocks`), and the operations can be ordered iff

1. an acknowledged release has an acquire, called before the release returned;
2. no two holds must each come before the other.

A hold certainly existed if its acquire or its release is ok; then its infos took effect too.
An unanswered acquire must have, or its release could not. An unanswered release may as
well have, since a free lock blocks no client. A hold that was never released has no end: it is
claimed after everything. A hold without any acknowledgement may not exist. Failed
operations had no effect and show nothing.

An owner may hold the lock several times, if each hold was acquired and released, both
acknowledged, before the next begins. Anything else, such as an acquire within a hold, is out
of scope; then `search` decides.

A lease ends a hold without a release. `checkers.facts.leases` judges locks with leases.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import NEVER
from checkers.history.operation import Operation, owner_of
from checkers.history.records import Outcome
from checkers.models.blocks import both_first
from checkers.models.budget import Budget
from checkers.models.model_verdict import Clash, Contradiction, ModelVerdict, OutOfScopeError
from checkers.models.objects import OwnedMutex
from checkers.models.search import BUDGET, judge_each


def judge_mutex(operations: Sequence[Operation], budget: Budget = BUDGET) -> ModelVerdict:
    """Judge locks with owners: by Algorithm L if it decides, else by the search.

    Raises:
        ModelError: an operation has an answer but no return, or returned before its call.
    """
    return judge_each(
        operations, lambda positions: mutex_clash(holds(operations, positions)), OwnedMutex(), budget
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MutexCall:
    """An acquire or a release, with its place in the history."""

    position: int
    called: int
    returned: int  # NEVER for an info


@dataclass(frozen=True, slots=True, kw_only=True)
class MutexHold:
    """A period in which an owner held the lock, or may have held it."""

    acquire: MutexCall | None = None
    release: MutexCall | None = None

    @property
    def calls(self) -> tuple[MutexCall, ...]:
        """The acquire and the release, if they exist."""
        return tuple(call for call in (self.acquire, self.release) if call is not None)

    @property
    def settler(self) -> MutexCall:
        """The call that returned first."""
        return min(self.calls, key=lambda call: call.returned)

    @property
    def claimer(self) -> MutexCall | None:
        """The last call; None if the hold never ended."""
        return None if self.release is None else max(self.calls, key=lambda call: call.called)

    @property
    def is_over(self) -> bool:
        """Were its acquire and its release both acknowledged?"""
        return all(call is not None and call.returned != NEVER for call in (self.acquire, self.release))


def mutex_clash(taken: Iterable[MutexHold]) -> Clash | None:
    """Return the operations of one lock that no order explains, or None if an order explains all."""
    certain = [hold for hold in taken if hold.settler.returned != NEVER]
    for hold in certain:
        clash = _released_too_early(hold)
        if clash is not None:
            return clash
    settled = np.array([hold.settler.returned for hold in certain], dtype=np.int64)
    claimers = [hold.claimer for hold in certain]
    claimed = np.array([NEVER if call is None else call.called for call in claimers], dtype=np.int64)
    pair = both_first(settled, claimed)
    if pair is None:
        return None
    one, other = (certain[number] for number in pair)
    calls = (one.settler, other.claimer, other.settler, one.claimer)
    return Clash(
        contradiction=Contradiction.BOTH_HELD,
        operations=tuple(call.position for call in calls if call is not None),
    )


def _released_too_early(hold: MutexHold) -> Clash | None:
    if hold.release is None:
        return None
    if hold.acquire is None:
        return Clash(contradiction=Contradiction.NEVER_ACQUIRED, operations=(hold.release.position,))
    if hold.release.returned < hold.acquire.called:
        return Clash(
            contradiction=Contradiction.RELEASED_BEFORE_ACQUIRED,
            operations=(hold.release.position, hold.acquire.position),
        )
    return None


def holds(operations: Sequence[Operation], positions: Iterable[int]) -> Iterator[MutexHold]:
    """Yield the holds of one lock; `positions` are in the order of calls.

    Raises:
        OutOfScopeError: an owner's operations cannot be divided into holds.
    """
    present: dict[Hashable, MutexHold] = {}
    for position in positions:
        op = operations[position]
        if op.outcome is Outcome.FAIL:
            continue
        owner = owner_of(op)
        hold = present.get(owner)
        if hold is not None and _is_past(hold, op):
            yield hold
            hold = None
        present[owner] = _extended(hold or MutexHold(), op, position)
    yield from present.values()


def _is_past(hold: MutexHold, op: Operation) -> bool:
    return hold.is_over and all(call.returned < op.called for call in hold.calls)


def _extended(hold: MutexHold, op: Operation, position: int) -> MutexHold:
    returned = NEVER if op.outcome is Outcome.INFO or op.returned is None else op.returned
    call = MutexCall(position=position, called=op.called, returned=returned)
    if op.f == "acquire" and hold.acquire is None:
        return MutexHold(acquire=call, release=hold.release)
    if op.f == "release" and hold.release is None:
        return MutexHold(acquire=hold.acquire, release=call)
    raise OutOfScopeError(f"{op} is neither the first acquire nor the first release of its hold")
