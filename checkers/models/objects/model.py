"""The interface of a model: an initial state, and a step from one state to the next.

A model is a small pure class. It needs only `initial`, the state before anything happened, and `step`, which
returns the state after an operation, or `IMPOSSIBLE` if the object cannot have answered that in this state:

    class Flag:
        initial = False

        def step(self, state, op):
            if op.f == "raise":
                return True
            return state if op.output == state else IMPOSSIBLE

`step` is called for every outcome. OK: the answer is in `op.output`. INFO: assume that it took effect,
whatever the answer would have been (the search also tries that it did not). FAIL: it had no effect, so return
the same state or `IMPOSSIBLE`; a failure that says nothing about the state is always possible. States are
hashable, and equal if they behave alike.

Optional methods are promises that make the search faster:

- `is_read(op)`: `step` returns the same state or `IMPOSSIBLE` for every state; for a failure it always does.
- `kind(op)`: operations of one kind have the same `step` from every state, in any outcome.
- `key(op)`: operations with different keys are about different objects with separate states.
- `part(op)`: the order of two operations on different parts, such as the elements of a set, never matters;
  None: it may. In every state: if one and then the other is possible, so is the reverse, and both end in
  the same state. Operations of equal kind have equal parts. A read of the whole object has None.
- `reach(read, groups)`, for a model with parts: can a read with the part None become possible? The result
  takes a state and a number. It returns True if some of the changes in the groups from that number on, in
  some order, may lead from the state to one in which the read is possible; when in doubt, it returns True.
- `owner(op)` and `holder(state)`, for an object that only its holder can change: the owner of a change, and
  the only owner whose changes are possible in a state; None: any owner's may be. A change in a state without
  a holder makes its owner the holder.
- `coarse(operations, positions)`: the history with fewer kinds, because some operations look the same
  to all others in it; no answer about the operations at `positions` changes.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from typing import Any, Final, Protocol

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome

State = Any
"""The state of an object, or IMPOSSIBLE; hashable."""

Reaches = Callable[[State, int], bool]
"""Can a read become possible, from a state, by the groups from a number on?"""


class Impossible(enum.Enum):
    """The type of `IMPOSSIBLE`; None will not do, because a register can hold it."""

    IMPOSSIBLE = "impossible"


IMPOSSIBLE: Final = Impossible.IMPOSSIBLE
"""The result of `step` for an operation that is not possible in this state."""


class Model(Protocol):
    """The two members that every model has."""

    @property
    def initial(self) -> Hashable:
        """The state before the first operation."""

    def step(self, state: State, op: Operation) -> State:
        """Return the state after `op`, or `IMPOSSIBLE`."""


def key_of(op: Operation) -> Hashable:
    """Return the object that an operation names."""
    return op.key


def kind_by_answer(op: Operation) -> Hashable:
    """Group operations with the same request and the same answer."""
    return (op.f, op.input, op.output, op.outcome is Outcome.FAIL)


def observed(state: State, op: Operation) -> State:
    """Return the state after a read of it."""
    return answered(state, op, state)


def answered(expected: Hashable, op: Operation, after: State) -> State:
    """Return the state `after` an operation whose answer should be `expected`; a missing answer fits."""
    return after if op.output is NO_VALUE or op.output == expected else IMPOSSIBLE
