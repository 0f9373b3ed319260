"""The value that an object starts with, where that is not the one of its model.

Many tests of Jepsen start their registers with 0, and nothing in a history says so. Where
another start explains the answers that no order explains, the verdict names it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from checkers.formats import json_values
from checkers.formats.initial_values import start_of
from checkers.formats.operations import with_article
from checkers.formats.values import frozen, in_edn, pair_of, written
from checkers.history.operation import UNKNOWN, Operation
from checkers.history.records import Outcome
from checkers.models.model_verdict import Clash, DeadEnd
from checkers.models.objects import Fenced, FencedNested, Nested
from checkers.text.errors import ModelError

_MOST_TRIED = 8  # starts
_MOST_SHOWN = 80  # characters of a start


def _is_number(value: Hashable) -> bool:
    return type(value) is int


def _is_process(value: Hashable) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _is_collection(value: Hashable) -> bool:
    return isinstance(value, tuple) and len(frozenset(value)) == len(value)


_TRUTH = {frozen(truth): truth for truth in (False, True)}
_TOKEN = ("the token of the last grant, a whole number", _is_number)
_HOLDER = ("the process that holds it, or null", _is_process)
_ANYTHING: tuple[str, Callable[[Hashable], bool]] = ("any value", lambda _: True)
_STARTS: dict[str, tuple[str, Callable[[Hashable], bool], Callable[[Any], Hashable]]] = {
    "cas-register": (*_ANYTHING, lambda value: value),
    "counter": ("a whole number", _is_number, int),
    "fenced-mutex": (*_TOKEN, lambda token: Fenced(None, token)),
    "kv": ("a text", lambda value: isinstance(value, str), str),
    "mutex": ("true if it is held, else false", lambda value: value in _TRUTH, lambda value: _TRUTH[value]),
    "owned-mutex": (*_HOLDER, lambda holder: holder),
    "reentrant-fenced-mutex": (*_TOKEN, lambda token: FencedNested(None, 0, token, None)),
    "reentrant-mutex": (*_HOLDER, lambda holder: Nested(holder, 0 if holder is None else 1)),
    "register": (*_ANYTHING, lambda value: value),
    "set": ("an array of different elements", _is_collection, frozenset),
}
"""For each model: what it starts with in words, whether a value is that, and the state that it stands for."""


def state_of(model: str, value: object) -> Hashable:
    """The state of an object of `model` that starts with a value.

    Raises:
        ModelError: it cannot start with that.
    """
    said, fits, state = _STARTS[model]
    start = start_of(model, value)
    if not fits(start):
        raise ModelError(f"{with_article(model)} starts with {said}, not {written(start)}")
    return state(start)


def other_starts(model: str, conflict: Clash | DeadEnd, operations: Sequence[Operation]) -> Iterator[str]:
    """The starts, as JSON, with which the answers of a conflict might be possible."""
    tried = dict.fromkeys(_starts(model, conflict, operations))
    for start in list(tried)[:_MOST_TRIED]:
        text = _as_json(start)
        if len(text) <= _MOST_SHOWN and _means(model, text, start):
            yield text


def _as_json(value: Hashable) -> str:
    if isinstance(value, tuple | frozenset):
        return f"[{', '.join(sorted(map(_as_json, value)))}]"
    return "null" if value is None else in_edn(value)


def _means(model: str, text: str, start: Hashable) -> bool:
    """Does the text stand for that start? JSON has no keywords, for example."""
    try:
        return state_of(model, json_values.loads(text)) == start
    except (ModelError, ValueError):
        return False


def _starts(model: str, conflict: Clash | DeadEnd, operations: Sequence[Operation]) -> Iterator[Hashable]:
    if isinstance(conflict, Clash):
        for position in conflict.operations:
            yield from _seen(operations[position])
        return
    op = operations[conflict.operation]
    if model in {"register", "cas-register"}:
        yield from _seen(op)
        return
    for state in [each.state for each in conflict.configurations] or [None]:
        yield from _missing(op, state)


def _seen(op: Operation) -> Iterator[Hashable]:
    """The value that a register had, by an answer."""
    change = pair_of(op.input) if op.f == "cas" and op.outcome is Outcome.OK else None
    if change is not None:
        yield change[0]
    elif op.f != "write" and op.output is not UNKNOWN:
        yield op.output


def _missing(op: Operation, state: Any) -> Iterator[Hashable]:
    """What must have been there at the start for an answer, if without it the object had a state."""
    match op.f, op.output:
        case "contains", True:
            yield frozenset({op.input})
        case "read", frozenset(elements):
            yield elements - (state or frozenset())
        case "read", int(total) if total > (state or 0):  # less: an add was lost
            yield total - (state or 0)
        case "get", str(text) if text.endswith(state or ""):
            yield text.removesuffix(state or "")
