"""Algorithm L: a lock without leases that only its holder can release.

No operation comes between an acquire and the release of the same hold, so a hold is a block
(see `blocks`), and the operations can be ordered iff

1. an acknowledged release has an acquire, called before the release returned;
2. no two holds must each come before the other.

A hold certainly existed if its acquire or its release is ok; then its infos took effect too. An unanswered
acquire must have, or its release could not. An unanswered release may as well have, since a free lock blocks
no client. A hold that was never released has no end: it is claimed after everything. A hold without any
acknowledgement may not exist. Failed operations had no effect and show nothing.

An owner may hold the lock several times, if each hold was acquired and released, both acknowledged, before
the next begins. Anything else, such as an acquire within a hold, is out of scope; then `search` decides.

A lease ends a hold without a release. `checkers.facts.leases` judges locks with leases.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

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


class MutexCall(NamedTuple):
    """An acquire or a release, with its place in the history."""

    position: int
    called: int
    returned: int  # NEVER for an info


class MutexHold(NamedTuple):
    """A period in which an owner held the lock, or may have held it."""

    acquire: MutexCall | None = None
    release: MutexCall | None = None

    @property
    def calls(self) -> tuple[MutexCall, ...]:
        """The acquire and the release, if they exist."""
        return tuple(filter(None, self))

    @property
    def settler(self) -> MutexCall:
        """The call that returned first."""
        return min(self.calls, key=attrgetter("returned"))

    @property
    def claimer(self) -> MutexCall | None:
        """The last call; None if the hold never ended."""
        return self.release and max(self.calls, key=attrgetter("called"))

    def ended_before(self, called: int) -> bool:
        """Were its acquire and its release both acknowledged before a call?"""
        return None not in self and all(NEVER != call.returned < called for call in self.calls)


def mutex_clash(taken: Iterable[MutexHold]) -> Clash | None:
    """Return the operations of one lock that no order explains, or None if an order explains all."""
    certain = [hold for hold in taken if hold.settler.returned != NEVER]
    for hold in certain:
        if clash := _released_too_early(hold):
            return clash
    settled = np.array([hold.settler.returned for hold in certain], dtype=np.int64)
    claimers = [hold.claimer for hold in certain]
    claimed = np.array([NEVER if call is None else call.called for call in claimers], dtype=np.int64)
    pair = both_first(settled, claimed)
    if pair is None:
        return None
    one, other = (certain[number] for number in pair)
    calls = (one.settler, other.claimer, other.settler, one.claimer)
    return _clash(Contradiction.BOTH_HELD, *filter(None, calls))


def _released_too_early(hold: MutexHold) -> Clash | None:
    if hold.release is None:
        return None
    if hold.acquire is None:
        return _clash(Contradiction.NEVER_ACQUIRED, hold.release)
    if hold.release.returned < hold.acquire.called:
        return _clash(Contradiction.RELEASED_BEFORE_ACQUIRED, hold.release, hold.acquire)
    return None


def _clash(contradiction: Contradiction, *calls: MutexCall) -> Clash:
    return Clash(contradiction=contradiction, operations=tuple(call.position for call in calls))


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
        hold = present.get(owner, MutexHold())
        if hold.ended_before(op.called):
            yield hold
            hold = MutexHold()
        if op.f not in MutexHold._fields or getattr(hold, op.f) is not None:
            raise OutOfScopeError(f"{op} is neither the first acquire nor the first release of its hold")
        returned = NEVER if op.outcome is Outcome.INFO or op.returned is None else op.returned
        present[owner] = hold._replace(**{op.f: MutexCall(position, op.called, returned)})
    yield from present.values()
