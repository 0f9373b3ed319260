"""Locks without leases: a mutex, and the variants with holders, nesting and fencing tokens."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from checkers.history.operation import NO_VALUE, Operation, owner_of
from checkers.history.records import Outcome
from checkers.models.objects.model import IMPOSSIBLE, State, key_of


def _kind_by_owner(op: Operation) -> Hashable:
    return (op.f, owner_of(op), op.outcome is Outcome.FAIL)


def _kind_by_owner_and_token(op: Operation) -> Hashable:
    return (op.f, owner_of(op), op.output, op.outcome is Outcome.FAIL)


@dataclass(frozen=True, slots=True)
class Mutex:
    """A lock that can be acquired if free and released if held, by any process."""

    initial: bool = False  # is it held?
    key = staticmethod(key_of)

    def step(self, state: State, op: Operation) -> State:
        """Return whether it is held after `op`."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "acquire":
            return IMPOSSIBLE if state else True
        if op.f == "release":
            return False if state else IMPOSSIBLE
        return IMPOSSIBLE

    def kind(self, op: Operation) -> Hashable:
        """Group acquires, and group releases."""
        return (op.f, op.outcome is Outcome.FAIL)


@dataclass(frozen=True, slots=True)
class OwnedMutex:
    """A mutex that only its holder can release: the input is the owner, None the process itself."""

    initial: Hashable = None  # the holder; None: it is free
    key = staticmethod(key_of)
    kind = staticmethod(_kind_by_owner)
    owner = staticmethod(owner_of)

    def holder(self, state: Hashable) -> Hashable:
        """Return the holder, which is the state itself."""
        return state

    def step(self, state: State, op: Operation) -> State:
        """Return the holder after `op`."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire":
            return owner if state is None else IMPOSSIBLE
        if op.f == "release":
            return None if state == owner else IMPOSSIBLE
        return IMPOSSIBLE


class Fenced(NamedTuple):
    """The state of a fenced mutex."""

    owner: Hashable = None  # None: it is free
    mark: int = 0  # high-water mark: every later grant has a higher token


@dataclass(frozen=True, slots=True)
class FencedMutex:
    """An owned mutex whose acquires return tokens that rise from grant to grant.

    A grant whose token is unknown took at least the lowest integer above the mark.
    """

    initial: Fenced = field(default_factory=Fenced)
    key = staticmethod(key_of)
    kind = staticmethod(_kind_by_owner_and_token)
    owner = staticmethod(owner_of)
    holder = staticmethod(attrgetter("owner"))

    def step(self, state: State, op: Operation) -> State:
        """Return the holder and the highest token so far, after `op`."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire" and state.owner is None:
            mark = _raised(state.mark, op)
            return IMPOSSIBLE if mark is None else Fenced(owner, mark)
        if op.f == "release" and state.owner == owner:
            return Fenced(mark=state.mark)
        return IMPOSSIBLE


class Nested(NamedTuple):
    """The state of a reentrant mutex."""

    owner: Hashable = None  # None: it is free
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ReentrantMutex:
    """An owned mutex that its holder may acquire again, and that is free after as many releases."""

    initial: Nested = field(default_factory=Nested)
    limit: int | None = None  # the deepest nesting that the service grants; None: any
    key = staticmethod(key_of)
    kind = staticmethod(_kind_by_owner)
    owner = staticmethod(owner_of)
    holder = staticmethod(attrgetter("owner"))

    def step(self, state: State, op: Operation) -> State:
        """Return the holder and its nesting depth after `op`."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire" and state.owner in {None, owner} and state.depth != self.limit:
            return Nested(owner, state.depth + 1)
        if op.f == "release" and state.owner == owner:
            return Nested(owner, state.depth - 1) if state.depth > 1 else Nested()
        return IMPOSSIBLE


class FencedNested(NamedTuple):
    """The state of a reentrant fenced mutex."""

    owner: Hashable = None  # None: it is free
    depth: int = 0
    mark: int = 0  # high-water mark: every later hold has a higher token
    token: int | None = None  # of the present hold; None: it is free, or the token is unknown


@dataclass(frozen=True, slots=True)
class ReentrantFencedMutex:
    """A reentrant mutex whose holds carry tokens that rise; an acquire within a hold repeats its token.

    Hazelcast's FencedLock is meant to be one (Jepsen, "Hazelcast IMDG 3.8.3" and its CP subsystem tests).
    """

    initial: FencedNested = field(default_factory=FencedNested)
    limit: int | None = None  # the deepest nesting that the service grants; None: any
    key = staticmethod(key_of)
    kind = staticmethod(_kind_by_owner_and_token)
    owner = staticmethod(owner_of)
    holder = staticmethod(attrgetter("owner"))

    def step(self, state: State, op: Operation) -> State:
        """Return the holder, its nesting depth, and the token of the hold, after `op`."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire" and state.owner is None:
            mark = _raised(state.mark, op)
            return IMPOSSIBLE if mark is None else FencedNested(owner, 1, mark, _token(op))
        if op.f == "acquire" and state.owner == owner and state.depth != self.limit:
            return _reentered(state, op)
        if op.f == "release" and state.owner == owner:
            if state.depth > 1:
                return state._replace(depth=state.depth - 1)
            return FencedNested(mark=state.mark)
        return IMPOSSIBLE


def _reentered(state: FencedNested, op: Operation) -> State:
    """Return the state after an acquire within a hold, which has its token and may reveal it."""
    token = _token(op)
    if token is None or token == state.token:
        return state._replace(depth=state.depth + 1)
    if state.token is None and token >= state.mark:
        return FencedNested(state.owner, state.depth + 1, token, token)
    return IMPOSSIBLE


def _token(op: Operation) -> int | None:
    if op.output is NO_VALUE or op.output is None:
        return None
    if not isinstance(op.output, int):
        raise ValueError(f"the output of an acquire is its token, an integer, not {op.output!r}")  # noqa: TRY004 - data
    return op.output


def _raised(mark: int, op: Operation) -> int | None:
    """Return the mark after a grant; None if its token is not above the mark."""
    token = _token(op)
    if token is None:
        return mark + 1
    return token if token > mark else None
