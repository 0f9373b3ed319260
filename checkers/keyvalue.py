"""A model of a key-value store's texts, as Porcupine's tests have it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from checkers.models import IMPOSSIBLE, State
from checkers.operation import UNKNOWN, Operation
from checkers.records import Outcome


@dataclass(frozen=True, slots=True)
class KeyValue:
    """`put` a text under a key, `append` to it, `get` it; each key is an object of its own."""

    initial: str = ""

    def step(self, state: State, op: Operation) -> Hashable:
        """The text of one key."""
        text = str(state)
        if op.outcome is Outcome.FAIL:
            return text
        if op.f == "get":
            return text if op.output is UNKNOWN or op.output == text else IMPOSSIBLE
        if op.f == "put":
            return op.input
        if op.f == "append":
            return text + str(op.input)
        return IMPOSSIBLE

    def is_read(self, op: Operation) -> bool:
        """A get."""
        return op.f == "get"

    def kind(self, op: Operation) -> Hashable:
        """The same change; gets and failures that tell the same."""
        return (op.f, op.input, op.output, op.outcome is Outcome.FAIL)

    def key(self, op: Operation) -> Hashable:
        """The key."""
        return op.key
