"""The interface of a model: an initial state, and a step from one state to the next.

A model is a small pure class. It needs only `initial`, the state before anything
happened, and `step`, which returns the state after an operation, or `IMPOSSIBLE` if
the object cannot have answered that in this state:

    class Flag:
        initial = False

        def step(self, state, op):
            if op.f == "raise":
                return True
            return state if op.output == state else IMPOSSIBLE

`step` is called for every outcome. OK: the answer is in `op.output`. INFO: assume that
it took effect, whatever the answer would have been (the search also tries that it did
not). FAIL: it had no effect, so return the same state or `IMPOSSIBLE`; a failure that
says nothing about the state is always possible. States are hashable, and equal if they
behave alike.

`Reads`, `Kinds`, `Keys`, `Parts`, `Reach`, `Holders` and `Coarse` are optional promises that make the
search faster.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome

State = Any
"""The state of an object, or IMPOSSIBLE; hashable."""

Reaches = Callable[[State, int], bool]
"""Can a read become possible, from a state, by the groups from a number on?"""


class Impossible(enum.Enum):
    """The type of `IMPOSSIBLE`; None would not do, because a register can hold it."""

    IMPOSSIBLE = "impossible"


IMPOSSIBLE: Final = Impossible.IMPOSSIBLE
"""The result of `step` for an operation that is not possible in this state."""


class Model(Protocol):
    """The two members that every model has."""

    @property
    def initial(self) -> Hashable:
        """The state before anything happened."""
        ...

    def step(self, state: State, op: Operation) -> State:
        """The state after `op`, or `IMPOSSIBLE`."""
        ...


@runtime_checkable
class Reads(Protocol):
    """A model that knows which operations never change anything."""

    def is_read(self, op: Operation) -> bool:
        """Is `step` the same state or `IMPOSSIBLE`, whatever the state? A failure always is."""
        ...


@runtime_checkable
class Kinds(Protocol):
    """A model that knows which operations are interchangeable."""

    def kind(self, op: Operation) -> Hashable:
        """Operations of equal kind have the same `step` from every state, whatever their outcome."""
        ...


@runtime_checkable
class Keys(Protocol):
    """A model of one object, for histories of several."""

    def key(self, op: Operation) -> Hashable:
        """Operations with different keys are about different objects, each with a state of its own."""
        ...


@runtime_checkable
class Parts(Protocol):
    """A model of an object whose parts change independently, such as the elements of a set."""

    def part(self, op: Operation) -> Hashable:
        """Of two operations with different parts it never matters which is first; None: any may matter to it.

        In every state: if one and then the other is possible, so is the reverse, and both end in the
        same state. Operations of equal kind have equal parts. A read of the whole object has None.
        """
        ...


@runtime_checkable
class Reach(Protocol):
    """A model with parts that can say what is out of reach."""

    def reach(self, read: Operation, groups: Sequence[Sequence[Operation]]) -> Reaches:
        """Prepare the question whether a read with the part None can become possible.

        The result is asked with a state and a number: True if some of the changes in the groups from
        that number on, in some order, may lead from the state to one in which the read is possible.
        When in doubt, True.
        """
        ...


@runtime_checkable
class Holders(Protocol):
    """A model of an object that only its holder can change.

    A change from a state that nobody holds makes its owner the holder.
    """

    def owner(self, op: Operation) -> Hashable:
        """Who asks for a change."""
        ...

    def holder(self, state: State) -> Hashable:
        """The only owner whose changes are possible in this state; None: anybody's may be."""
        ...


@runtime_checkable
class Coarse(Protocol):
    """A model that knows which operations of a history no other operation of it tells apart."""

    def coarse(self, operations: Sequence[Operation], positions: Iterable[int]) -> Sequence[Operation]:
        """The same history with fewer kinds: an order explains those at `positions` iff it did before."""
        ...


def key_of(op: Operation) -> Hashable:
    """The object that an operation names."""
    return op.key


def kind_by_answer(op: Operation) -> Hashable:
    """Operations with the same request and the same answer."""
    return (op.f, op.input, op.output, op.outcome is Outcome.FAIL)


def observed(state: State, op: Operation) -> State:
    """The state after a read of it."""
    return answered(state, op, state)


def answered(expected: Hashable, op: Operation, after: State) -> State:
    """The state `after` an operation whose answer should be `expected`; a missing answer may be any."""
    return after if op.output is NO_VALUE or op.output == expected else IMPOSSIBLE
