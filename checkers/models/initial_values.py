"""The initial value of an object, where it differs from its model's.

Many tests of Jepsen start their registers with 0, and nothing in a history says so. If
another start explains the answers that no order explains, the verdict names it, and the option
for it, or why there is none: `--initial` takes JSON, which lacks some values of EDN.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, cast

from checkers.formats import json_values
from checkers.formats.initial_values import in_json, start_of
from checkers.formats.operations import with_article
from checkers.formats.values import frozen, in_edn, pair_of, written
from checkers.history.operation import NO_VALUE, Operation, owner_of
from checkers.history.records import Outcome
from checkers.models.model_verdict import Clash, DeadEnd
from checkers.models.objects import Fenced, FencedNested, Nested
from checkers.text.errors import ModelError
from checkers.text.printable import shorten

_MOST_TRIED = 8  # starts
_MOST_SHOWN = 80  # characters of a start in words
_LONGEST_OPTION = 1_000  # characters of an option to copy
BELOW_ALL = -(1 << 63)  # the token before the first grant: a service's first may be 0


def _is_number(value: Hashable) -> bool:
    return type(value) is int


_TRUTH = {frozen(truth): truth for truth in (False, True)}
_TOKEN = ("the token of the last grant, a whole number", _is_number)
_HOLDER = ("the process that holds it, or null", lambda by: by is None or (_is_number(by) and by >= 0))
_ANYTHING = ("any value", lambda _: True)
_STARTS: dict[str, tuple[str, Callable[[Any], bool], Callable[[Any], Hashable]]] = {
    "cas-register": (*_ANYTHING, lambda value: value),
    "counter": ("a whole number", _is_number, int),
    "fenced-mutex": (*_TOKEN, lambda token: Fenced(None, token)),
    "kv": ("a text", lambda value: isinstance(value, str), str),
    "mutex": ("true if it is held, else false", lambda value: value in _TRUTH, lambda value: _TRUTH[value]),
    "owned-mutex": (*_HOLDER, lambda holder: holder),
    "reentrant-fenced-mutex": (*_TOKEN, lambda token: FencedNested(None, 0, token, None)),
    "reentrant-mutex": (*_HOLDER, lambda holder: Nested(holder, 0 if holder is None else 1)),
    "register": (*_ANYTHING, lambda value: value),
    "set": (
        "an array of different elements",
        lambda value: isinstance(value, tuple) and len(frozenset(value)) == len(value),
        frozenset,
    ),
}
"""For each model: the initial value in words, a check of a value, and the state that it means."""

_HELD = True  # a mutex
_NO_HOLDER = "it takes the token of the last grant; let the test begin with a free lock"
_CHANGE = {"counter": "add", "kv": "put", "set": "add"}  # by which a test can begin; a register is written


def state_of(model: str, value: object) -> Hashable:
    """Return an object's state with an initial value; ModelError if `model` cannot start with it."""
    said, fits, state = _STARTS[model]
    start = start_of(model, value)
    if not fits(start):
        raise ModelError(f"{with_article(model)} starts with {said}, not {written(start)}")
    return state(start)


@dataclass(frozen=True, slots=True)
class Start:
    """Another possible initial state of an object."""

    state: Hashable
    words: str  # "the register starts with 0"
    option: str = ""  # the value for --initial
    problem: str = ""  # why --initial cannot express it

    @property
    def remedy(self) -> str:
        """How to judge from this state."""
        if self.problem:
            return f"--initial cannot say that, as {self.problem}"
        if len(self.option) > _LONGEST_OPTION:
            return "add --initial with all of it as JSON"
        return f"add --initial {quote(self.option)}"


def other_starts(model: str, conflict: Clash | DeadEnd, operations: Sequence[Operation]) -> Iterator[Start]:
    """Yield the initial states with which the answers of a conflict might be possible."""
    tried = dict.fromkeys(_starts(model, conflict, operations))
    for value in list(tried)[:_MOST_TRIED]:
        yield _held(model, value) if model.endswith("mutex") else _started_with(model, value)


def _held(model: str, holder: Hashable) -> Start:
    said = f"process {written(holder)} holds the {model} at the start"
    match model:
        case "mutex":
            return Start(_HELD, "the mutex is held at the start", "true")
        case "fenced-mutex":
            return Start(Fenced(holder, BELOW_ALL), said, problem=_NO_HOLDER)
        case "reentrant-fenced-mutex":
            return Start(FencedNested(holder, 1, BELOW_ALL, None), said, problem=_NO_HOLDER)
    _, fits, state = _STARTS[model]
    if fits(holder):
        return Start(state(holder), said, in_json(holder))
    return Start(state(holder), said, problem=f"it takes {_HOLDER[0]}")


def _started_with(model: str, value: Hashable) -> Start:
    state = _STARTS[model][2](value)
    try:
        option = in_json(value)
        if state_of(model, json_values.loads(option)) == state:
            return Start(state, f"the {model} starts with {shorten(option, _MOST_SHOWN)}", option)
        problem = "JSON has no such value"
    except (ModelError, ValueError) as error:
        problem = str(error)
    begin = f"let the test {_CHANGE.get(model, 'write')} it first"
    return Start(state, f"the {model} starts with {written(state)}", problem=f"{problem}; {begin}")


def _starts(model: str, conflict: Clash | DeadEnd, operations: Sequence[Operation]) -> Iterator[Hashable]:
    if isinstance(conflict, Clash):
        for position in conflict.operations:
            yield from (_released if model.endswith("mutex") else _seen)(operations[position])
        return
    op = operations[conflict.operation]
    if model in {"register", "cas-register"}:
        yield from _seen(op)
    elif model.endswith("mutex"):
        yield from _released(op)
    else:
        least = _least_total(op, operations) if model == "counter" else 0
        for state in [each.state for each in conflict.configurations] or [None]:
            yield from _missing(op, state, least)


def _released(op: Operation) -> Iterator[Hashable]:
    """Yield the process that held a lock, according to its release."""
    if op.f == "release" and op.outcome is Outcome.OK:
        yield owner_of(op)


def _least_total(op: Operation, operations: Sequence[Operation]) -> int:
    """Return the lowest total of a counter from 0: every add that raises it was lost."""
    adds = (each for each in operations if each.f == "add" and each.key == op.key)
    return sum(min(cast("int", each.input), 0) for each in adds if each.outcome is not Outcome.FAIL)


def _seen(op: Operation) -> Iterator[Hashable]:
    """Yield the value that a register had, according to an answer."""
    change = pair_of(op.input) if op.f == "cas" and op.outcome is Outcome.OK else None
    if change is not None:
        yield change[0]
    elif op.f != "write" and op.output is not NO_VALUE:
        yield op.output


def _missing(op: Operation, state: Any, least: int) -> Iterator[Hashable]:
    """Yield what must have been there at the start for an answer, given the state without it."""
    match op.f, op.output:
        case "contains", True:
            yield (op.input,)
        case "read", frozenset(elements):
            yield tuple(sorted(elements - (state or frozenset()), key=in_edn))
        case "read", int(total) if total > (state or 0) or total < least:  # in between: an add was lost
            yield total - (state or 0)
        case "get", str(text) if text.endswith(state or ""):
            yield text.removesuffix(state or "")
