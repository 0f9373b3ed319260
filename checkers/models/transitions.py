"""State transitions of a model: computed once for each kind of operation, and checked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable

from checkers.history.operation import Operation
from checkers.models.budget import States
from checkers.models.objects import IMPOSSIBLE, Model
from checkers.text.errors import ModelError


def initial_state(model: Model) -> Hashable:
    """Return the state before the first operation."""
    if not hasattr(model, "initial"):
        named = type(model).__name__
        raise ModelError(f"the model {named} has no `initial`: the state before anything happened")
    _check_hashable(model, model.initial)
    return model.initial


def _check_hashable(model: Model, state: Hashable) -> None:
    try:
        hash(state)
    except TypeError as error:
        raise ModelError(
            f"the model {type(model).__name__} has a state that cannot be compared with others ({error}):"
            f" {state!r:.80}; make it hashable, such as a tuple or a frozenset"
        ) from None


class Transitions(dict[Hashable, Hashable]):
    """State → the state after any operation of one kind; each step is computed once."""

    __slots__ = ("infos", "model", "number", "op", "reads", "states")

    def __init__(self, model: Model, op: Operation, number: int, states: States, *, reads: bool) -> None:
        self.model = model
        self.number = number  # of the kind, among changes or among reads
        self.op = op  # an operation of the kind
        self.states = states
        self.reads = reads
        self.infos: list[int] = []  # places of the bits of those called so far

    def unused(self, used: int) -> int:
        """Return the bit of the first unused info, or 0; infos are used in the order of their calls."""
        places = self.infos
        if used >> places[-1] & 1:
            return 0
        if used >> places[0] & 1:
            return 1 << places[bisect_left(places, 1, key=lambda place: not used >> place & 1)]
        return 1 << places[0]

    def __missing__(self, state: Hashable) -> Hashable:
        after: Hashable = self.model.step(state, self.op)
        if self.reads and after is not IMPOSSIBLE and after != state:
            leads = f"is a read or a failure, but the model's step leads from {state!r} to {after!r}"
            raise ModelError(f"{self.op} {leads}; it must return the same state or IMPOSSIBLE")
        _check_hashable(self.model, after)
        self.states.remember()
        after = self[state] = state if after == state else self.states[after]
        return after
