"""Models: what one object may answer, as a state and a step.

A model is a small pure class. All that it needs is `initial`, the state before
anything happened, and `step`, which gives the state after an operation, or
`IMPOSSIBLE` if the object cannot have answered that in this state:

    class Flag:
        initial = False

        def step(self, state, op):
            if op.f == "raise":
                return True
            return state if op.output == state else IMPOSSIBLE

`step` is asked about every outcome. OK: what was answered is in `op.output`. INFO:
suppose that it took effect, whatever came back (that it did not is tried elsewhere).
FAIL: it had no effect, so the answer is the same state or `IMPOSSIBLE`; a failure that
tells nothing is always possible. States are hashable and equal when they behave alike.

A model may state more, to make the search faster; saying nothing is always right.
`Reads`, `Kinds` and `Keys` are the three things it can state.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from checkers.history.records import Outcome
from checkers.linearizability.operation import UNKNOWN, Operation

State = Any
"""What a model remembers between operations, or IMPOSSIBLE; hashable."""


class Impossible(enum.Enum):
    """The type of `IMPOSSIBLE`; None would not do, because a register can hold it."""

    IMPOSSIBLE = "impossible"


IMPOSSIBLE: Final = Impossible.IMPOSSIBLE
"""What `step` answers for an operation that this state does not explain."""


class Model(Protocol):
    """What every model has."""

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


@dataclass(frozen=True, slots=True)
class Register:
    """`write` a value, `read` the one that was written last."""

    initial: Hashable = None

    def step(self, state: State, op: Operation) -> State:
        """A read answers the state, a write becomes it."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "read":
            return _seen(state, op)
        if op.f == "write":
            return op.input
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """A read."""
        return op.f == "read"

    def kind(self, op: Operation) -> Hashable:
        """Writes of one value; reads and failures that tell the same."""
        if op.f == "write" and op.outcome is not Outcome.FAIL:
            return (op.f, op.input)
        return (op.f, op.input, op.output, op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The register."""
        return op.key


@dataclass(frozen=True, slots=True)
class CasRegister:
    """A register with `cas`, whose input is (expected, new): it writes only over what it expects.

    A failed cas did not find what it expected; its output is what it found, or
    `UNKNOWN`. A cas that failed for another reason belongs left out.
    """

    initial: Hashable = None

    def step(self, state: State, op: Operation) -> State:
        """A cas replaces the state if that is what it expects."""
        if op.f == "cas":
            expected, new = expected_and_new(op.input)
            if op.outcome is Outcome.FAIL:
                return IMPOSSIBLE if state == expected else _seen(state, op)
            return new if state == expected else IMPOSSIBLE
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "read":
            return _seen(state, op)
        if op.f == "write":
            return op.input
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """A read, or a cas that failed."""
        return op.f == "read" or op.outcome is Outcome.FAIL

    def kind(self, op: Operation) -> Hashable:
        """Writes of one value, cas of one pair; reads and failures that tell the same."""
        if op.f == "read" or op.outcome is Outcome.FAIL:
            return (op.f, op.input, op.output, op.outcome is Outcome.FAIL)
        return (op.f, op.input)

    def key(self, op: Operation) -> Hashable:
        """The register."""
        return op.key


@dataclass(frozen=True, slots=True)
class Mutex:
    """`acquire` when nobody holds it, `release` when anybody does. A failure tells nothing."""

    initial: bool = False

    def step(self, state: State, op: Operation) -> State:
        """Held or not."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "acquire":
            return IMPOSSIBLE if state else True
        if op.f == "release":
            return False if state else IMPOSSIBLE
        return IMPOSSIBLE

    def kind(self, op: Operation) -> Hashable:
        """Acquires are alike, and so are releases."""
        return (op.f, op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The lock."""
        return op.key


@dataclass(frozen=True, slots=True)
class OwnedMutex:
    """A mutex that only its holder can release: the input is the owner, None the process itself."""

    initial: Hashable = None  # who holds it; None: nobody

    def step(self, state: State, op: Operation) -> State:
        """Who holds it."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire":
            return owner if state is None else IMPOSSIBLE
        if op.f == "release":
            return None if state == owner else IMPOSSIBLE
        return IMPOSSIBLE

    def kind(self, op: Operation) -> Hashable:
        """What one owner does to the lock."""
        return (op.f, owner_of(op), op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The lock."""
        return op.key


class Fenced(NamedTuple):
    """The state of a fenced mutex."""

    owner: Hashable = None  # None: nobody
    mark: int = 0  # no grant to come has a token as low as this


@dataclass(frozen=True, slots=True)
class FencedMutex:
    """An owned mutex whose grants carry tokens, as outputs, that rise from grant to grant.

    A grant whose token nobody saw took at least the lowest integer that was free.
    """

    initial: Fenced = field(default_factory=Fenced)

    def step(self, state: State, op: Operation) -> State:
        """Who holds it, and the highest token so far."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire" and state.owner is None:
            mark = _raised(state.mark, op)
            return IMPOSSIBLE if mark is None else Fenced(owner, mark)
        if op.f == "release" and state.owner == owner:
            return Fenced(mark=state.mark)
        return IMPOSSIBLE

    def kind(self, op: Operation) -> Hashable:
        """What one owner does to the lock, and which token it got."""
        return (op.f, owner_of(op), op.output, op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The lock."""
        return op.key


class Nested(NamedTuple):
    """The state of a reentrant mutex."""

    owner: Hashable = None  # None: nobody
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ReentrantMutex:
    """An owned mutex that its holder may acquire again, and is free after as many releases."""

    initial: Nested = field(default_factory=Nested)
    limit: int | None = None  # the deepest nesting that the service grants; None: any

    def step(self, state: State, op: Operation) -> State:
        """Who holds it, and how deep."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire" and state.owner in {None, owner} and state.depth != self.limit:
            return Nested(owner, state.depth + 1)
        if op.f == "release" and state.owner == owner:
            return Nested(owner, state.depth - 1) if state.depth > 1 else Nested()
        return IMPOSSIBLE

    def kind(self, op: Operation) -> Hashable:
        """What one owner does to the lock."""
        return (op.f, owner_of(op), op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The lock."""
        return op.key


class FencedNested(NamedTuple):
    """The state of a reentrant fenced mutex."""

    owner: Hashable = None  # None: nobody
    depth: int = 0
    mark: int = 0  # no new hold to come has a token as low as this
    token: int | None = None  # of the present hold; None: there is none, or nobody saw it


@dataclass(frozen=True, slots=True)
class ReentrantFencedMutex:
    """A reentrant mutex whose holds carry tokens that rise; an acquire within a hold repeats its token.

    Hazelcast's FencedLock is meant to be one (Jepsen, "Hazelcast IMDG 3.8.3" and its CP subsystem tests).
    """

    initial: FencedNested = field(default_factory=FencedNested)
    limit: int | None = None  # the deepest nesting that the service grants; None: any

    def step(self, state: State, op: Operation) -> State:
        """Who holds it, how deep, and with which token."""
        if op.outcome is Outcome.FAIL:
            return state
        owner = owner_of(op)
        if op.f == "acquire" and state.owner is None:
            mark = _raised(state.mark, op)
            return IMPOSSIBLE if mark is None else FencedNested(owner, 1, mark, _token(op))
        if op.f == "acquire" and state.owner == owner and state.depth != self.limit:
            return _again(state, op)
        if op.f == "release" and state.owner == owner:
            if state.depth > 1:
                return state._replace(depth=state.depth - 1)
            return FencedNested(mark=state.mark)
        return IMPOSSIBLE

    def kind(self, op: Operation) -> Hashable:
        """What one owner does to the lock, and which token it got."""
        return (op.f, owner_of(op), op.output, op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The lock."""
        return op.key


@dataclass(frozen=True, slots=True)
class Set:
    """A set: `add` and `remove` an element, `contains` one, `read` all of them as a frozenset."""

    initial: frozenset[Hashable] = frozenset()

    def step(self, state: State, op: Operation) -> State:
        """The elements. An add or remove says, if it says anything, whether it changed them."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "read":
            return _seen(state, op)
        present = op.input in state
        if op.f == "contains":
            return _answered(present, op, state)
        if op.f == "add":
            return _answered(not present, op, state | {op.input})
        if op.f == "remove":
            return _answered(present, op, state - {op.input})
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """A question."""
        return op.f in {"read", "contains"}

    def kind(self, op: Operation) -> Hashable:
        """The same question or change, with the same answer."""
        return (op.f, op.input, op.output, op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The set."""
        return op.key


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter: `add` a number, which may answer the new total, and `read` the total."""

    initial: int = 0

    def step(self, state: State, op: Operation) -> State:
        """The total."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "read":
            return _seen(state, op)
        if op.f == "add":
            total = state + op.input
            return _answered(total, op, total)
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """A read."""
        return op.f == "read"

    def kind(self, op: Operation) -> Hashable:
        """The same amount, with the same answer."""
        return (op.f, op.input, op.output, op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The counter."""
        return op.key


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A store of texts: `put` one, `append` to it, `get` it; at first each key has the empty one."""

    initial: str = ""

    def step(self, state: State, op: Operation) -> State:
        """The text of one key."""
        if op.outcome is Outcome.FAIL:
            return state
        if op.f == "get":
            return _seen(state, op)
        if op.f == "put":
            return op.input
        if op.f == "append":
            return state + op.input
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """A get."""
        return op.f == "get"

    def kind(self, op: Operation) -> Hashable:
        """Puts and appends of one text; gets and failures that tell the same."""
        if op.f == "get" or op.outcome is Outcome.FAIL:
            return (op.f, op.output, op.outcome is Outcome.FAIL)
        return (op.f, op.input)

    def key(self, op: Operation) -> Hashable:
        """The key."""
        return op.key


MODELS: dict[str, Callable[[], Model]] = {
    "cas-register": CasRegister,
    "counter": Counter,
    "fenced-mutex": FencedMutex,
    "kv": KeyValue,
    "mutex": Mutex,
    "owned-mutex": OwnedMutex,
    "reentrant-fenced-mutex": ReentrantFencedMutex,
    "reentrant-mutex": ReentrantMutex,
    "register": Register,
    "set": Set,
}
"""The models that come with the package, by the names that the command line knows."""


def owner_of(op: Operation) -> Hashable:
    """On whose behalf a lock is asked for: the owner that is named, else the process."""
    return op.process if op.input is None else op.input


def _seen(state: State, op: Operation) -> State:
    return _answered(state, op, state)


def _answered(expected: Hashable, op: Operation, after: State) -> State:
    """The state after an operation that would answer `expected`; no answer contradicts nothing."""
    return after if op.output is UNKNOWN or op.output == expected else IMPOSSIBLE


def expected_and_new(value: Hashable) -> tuple[Hashable, Hashable]:
    """The input of a cas, taken apart.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, tuple) or len(value) != 2:  # noqa: PLR2004 - expected and new
        raise ValueError(f"the input of a cas is (expected, new), not {value!r}")
    return value


def _token(op: Operation) -> int | None:
    """The token that a grant carries, None where nobody saw it."""
    if op.output is UNKNOWN or op.output is None:
        return None
    if not isinstance(op.output, int):
        raise ValueError(f"the output of an acquire is its token, an integer, not {op.output!r}")  # noqa: TRY004 - data
    return op.output


def _raised(mark: int, op: Operation) -> int | None:
    """The mark after a grant; None if its token is not above the mark."""
    token = _token(op)
    if token is None:
        return mark + 1
    return token if token > mark else None


def _again(state: FencedNested, op: Operation) -> State:
    """An acquire within a hold: its token is the hold's, and tells it where nobody had seen it."""
    token = _token(op)
    if token is None or token == state.token:
        return state._replace(depth=state.depth + 1)
    if state.token is None and token >= state.mark:
        return FencedNested(state.owner, state.depth + 1, token, token)
    return IMPOSSIBLE
