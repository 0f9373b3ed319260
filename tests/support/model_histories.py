"""Random small histories of every kind of object: correct, or wrong in a way that is hard to detect."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome


@dataclass(frozen=True)
class Kind:
    """The operations on an object, and the answers of a correct one."""

    ask: Callable[[random.Random, int], tuple[str, Hashable]]  # (rng, a unique number) → f, input
    answer: Callable[..., Any]  # (state, f, input, rng) → (state, outcome, output)
    outputs: Callable[[random.Random, str], Hashable]  # a possible answer, correct or not
    initial: Hashable


def _ask_register(rng: Any, _: Any) -> tuple[Any, ...]:
    f = rng.choice(["read", "read", "write", "cas", "cas"])
    if f == "cas":
        return f, (rng.randint(0, 2), rng.randint(0, 2))
    return f, rng.randint(0, 2) if f == "write" else None


def _ask_unique_writes(rng: Any, own: Any) -> Any:
    return rng.choice([("read", None), ("write", own + 1)])


def _ask_unique_cas(rng: Any, own: Any) -> tuple[Any, ...]:
    f = rng.choice(["read", "read", "write", "cas", "cas", "cas"])
    if f == "cas":
        return f, (rng.randint(0, 6), own + 1)
    return f, own + 1 if f == "write" else None


def _answer_register(state: Any, f: Any, value: Any, rng: Any) -> Any:
    if f == "read":
        return state, Outcome.OK, state
    if f == "write":
        return value, Outcome.OK, NO_VALUE
    if state == value[0]:
        return value[1], Outcome.OK, NO_VALUE
    return state, Outcome.FAIL, rng.choice([state, state, NO_VALUE])


def _answer_unique_cas(state: Any, f: Any, value: Any, _: Any) -> Any:
    if f == "cas" and state != value[0]:
        return state, Outcome.FAIL, state
    return _answer_register(state, f, value, _)


def _some_value(highest: int) -> Any:
    return lambda rng, f: rng.randint(0, highest) if f in {"read", "cas"} else NO_VALUE


def _ask_lock(rng: Any, _: Any) -> tuple[Any, Any]:
    return rng.choice(["acquire", "release"]), rng.choice("aab")


def _ask_hold(_: Any, own: Any) -> tuple[str, str]:
    return "release" if own % 2 else "acquire", f"owner {own // 2}"


def _answer_mutex(state: Any, f: Any, owner: Any, _: Any) -> Any:
    if f == "acquire" and state is None:
        return owner, Outcome.OK, NO_VALUE
    if f == "release" and state is not None:
        return None, Outcome.OK, NO_VALUE
    return state, Outcome.FAIL, NO_VALUE


def _answer_owned(state: Any, f: Any, owner: Any, _: Any) -> Any:
    if f == "release" and state != owner:
        return state, Outcome.FAIL, NO_VALUE
    return _answer_mutex(state, f, owner, _)


def _answer_fenced(state: Any, f: Any, owner: Any, rng: Any) -> Any:
    holder, token = state
    after, outcome, _ = _answer_owned(holder, f, owner, rng)
    if f == "acquire" and outcome is Outcome.OK:
        token += rng.randint(1, 2)
        return (after, token), outcome, token
    return (after, token), outcome, NO_VALUE


def _answer_reentrant(state: Any, f: Any, owner: Any, rng: Any) -> Any:
    holder, depth, token = state
    if f == "acquire" and holder in {None, owner}:
        token += 0 if depth else rng.randint(1, 2)
        return (owner, depth + 1, token), Outcome.OK, token
    if f == "release" and holder == owner:
        return (owner if depth > 1 else None, depth - 1, token), Outcome.OK, NO_VALUE
    return state, Outcome.FAIL, NO_VALUE


def _answer_reentrant_plain(state: Any, f: Any, owner: Any, rng: Any) -> Any:
    after, outcome, _ = _answer_reentrant(state, f, owner, rng)
    return after, outcome, NO_VALUE


def _ask_set(rng: Any, _: Any) -> tuple[Any, Any | None]:
    f = rng.choice(["add", "add", "remove", "contains", "read"])
    return f, None if f == "read" else rng.randint(0, 1)


def _answer_set(state: Any, f: Any, element: Any, rng: Any) -> tuple[Any, Outcome, Any]:
    if f == "read":
        return state, Outcome.OK, state
    present = element in state
    if f == "contains":
        return state, Outcome.OK, present
    after = state | {element} if f == "add" else state - {element}
    return after, Outcome.OK, rng.choice([NO_VALUE, after != state])


def _ask_counter(rng: Any, _: Any) -> Any:
    return rng.choice([("add", 1), ("add", 1), ("add", 2), ("add", -1), ("read", None)])


def _answer_counter(state: Any, f: Any, amount: Any, rng: Any) -> tuple[Any, Outcome, Any]:
    if f == "read":
        return state, Outcome.OK, state
    return state + amount, Outcome.OK, rng.choice([NO_VALUE, state + amount])


def _ask_text(rng: Any, _: Any) -> tuple[Any, Any | None]:
    f = rng.choice(["put", "append", "append", "get", "get"])
    return f, None if f == "get" else rng.choice("ab")


def _answer_text(state: Any, f: Any, text: Any, _: Any) -> Any:
    if f == "get":
        return state, Outcome.OK, state
    return text if f == "put" else state + text, Outcome.OK, NO_VALUE


def _some_text(rng: Any, f: Any) -> Any:
    return rng.choice(["", "a", "b", "ab", "ba"]) if f == "get" else NO_VALUE


def _token(rng: Any, f: Any) -> Any:
    return rng.randint(1, 4) if f == "acquire" else NO_VALUE


def _nothing(_: Any, __: Any) -> Any:
    return NO_VALUE


KINDS = {
    "register": Kind(
        lambda rng, _: rng.choice([("read", None), ("write", rng.randint(0, 2))]),
        _answer_register,
        _some_value(2),
        0,
    ),
    "cas-register": Kind(_ask_register, _answer_register, _some_value(2), 0),
    "mutex": Kind(_ask_lock, _answer_mutex, _nothing, None),
    "owned-mutex": Kind(_ask_lock, _answer_owned, _nothing, None),
    "fenced-mutex": Kind(_ask_lock, _answer_fenced, _token, (None, 0)),
    "reentrant-mutex": Kind(_ask_lock, _answer_reentrant_plain, _nothing, (None, 0, 0)),
    "reentrant-fenced-mutex": Kind(_ask_lock, _answer_reentrant, _token, (None, 0, 0)),
    "set": Kind(
        _ask_set,
        _answer_set,
        lambda rng, f: (
            frozenset(rng.sample([0, 1], rng.randint(0, 2))) if f == "read" else rng.random() < 0.5
        ),
        frozenset(),
    ),
    "counter": Kind(_ask_counter, _answer_counter, lambda rng, _: rng.randint(-1, 3), 0),
    "kv": Kind(_ask_text, _answer_text, _some_text, ""),
    "unique-writes": Kind(_ask_unique_writes, _answer_register, _some_value(6), 0),
    "unique-cas": Kind(_ask_unique_cas, _answer_unique_cas, _some_value(6), 0),
    "holds": Kind(_ask_hold, _answer_owned, _nothing, None),
}
"""The kinds of histories, named after their model or their special property."""


def random_history(rng: random.Random, kind: Kind, size: int = 6) -> tuple[Operation, ...]:
    """A small history with ties and infos: plain, or aimed at the hard cases.

    A plain one comes from a correct object, and then anything may be changed, so that most
    are obviously wrong. An aimed one is correct except for one or two answers or moments
    that are exchanged or moved a little.
    """
    size = rng.randint(2, size)
    operations = _answered(rng, kind, _asked(rng, kind, size))
    if rng.random() < 1 / 4:
        operations = [_changed(rng, kind, op) if rng.random() < 1 / 2 else op for op in operations]
    else:
        for _ in range(rng.choice([0, 1, 1, 2])):
            _disturb(rng, operations)
    return tuple(operations)


def _disturb(rng: random.Random, operations: list[Operation]) -> None:
    i, j = rng.sample(range(len(operations)), 2)
    one, other = operations[i], operations[j]
    if rng.random() < 0.4 and one.f == other.f and Outcome.INFO not in {one.outcome, other.outcome}:
        operations[i] = replace(one, output=other.output, outcome=other.outcome)
        operations[j] = replace(other, output=one.output, outcome=one.outcome)
    elif rng.random() < 0.5:
        operations[i] = _at(one, other)
        operations[j] = _at(other, one)
    else:
        by = rng.choice([-4, -3, -2, -1, 1, 2, 3, 4])
        returned = None if one.returned is None else one.returned + by
        operations[i] = replace(one, called=one.called + by, returned=returned)


def _at(op: Operation, moment: Operation) -> Operation:
    """The operation with the other's interval, as far as it has one."""
    if op.outcome is Outcome.INFO or moment.returned is None:
        return op
    return replace(op, called=moment.called, returned=moment.returned)


def _asked(rng: random.Random, kind: Kind, size: int) -> list[Operation]:
    horizon = rng.choice([size, 2 * size, 4 * size])
    operations = []
    for own in range(size):
        called, returned = sorted((rng.randint(0, horizon), rng.randint(0, horizon)))
        if rng.random() < 0.5:
            returned = min(returned, called + 2)
        f, value = kind.ask(rng, own)
        operations.append(Operation(f=f, process=own, input=value, called=called, returned=returned))
    return operations


def _answered(rng: random.Random, kind: Kind, operations: list[Operation]) -> list[Operation]:
    """The answers of a correct object, in some order that real time allows."""
    infos = rng.choice([0, 0.2, 0.5])
    state, answered = kind.initial, dict(enumerate(operations))
    points = {i: rng.uniform(op.called, op.returned + 0.5) for i, op in answered.items()}
    open_ = {i for i in answered if rng.random() < infos}
    points |= {i: point + rng.choice([0, 0, 5, 50]) for i, point in points.items() if i in open_}
    for i in sorted(points, key=points.__getitem__):
        op = operations[i]
        if i in open_ and rng.random() < 0.4:
            continue
        state, outcome, output = kind.answer(state, op.f, op.input, rng)
        answered[i] = replace(_tightened(rng, op, points[i]), outcome=outcome, output=output)
    for i in open_:
        answered[i] = _lost(operations[i])
    return list(answered.values())


def _tightened(rng: random.Random, op: Operation, point: float) -> Operation:
    """The operation with an interval that is often shorter, around the point where it took effect."""
    if rng.random() < 0.3:
        return op
    assert op.returned is not None
    moment = min(int(point), op.returned)
    return replace(op, called=rng.randint(op.called, moment), returned=rng.randint(moment, op.returned))


def _changed(rng: random.Random, kind: Kind, op: Operation) -> Operation:
    if op.outcome is Outcome.INFO:
        return op
    change = rng.choice(["output", "outcome", "lost", "early"])
    if change == "output":
        return replace(op, output=kind.outputs(rng, op.f))
    if change == "outcome":
        ok = op.outcome is Outcome.FAIL
        known = kind.outputs(rng, op.f) if ok or op.f == "cas" else NO_VALUE
        return replace(op, outcome=Outcome.OK if ok else Outcome.FAIL, output=known)
    if change == "lost":
        return _lost(op)
    return replace(op, returned=rng.randint(op.called, op.returned))


def _lost(op: Operation) -> Operation:
    return replace(op, outcome=Outcome.INFO, output=NO_VALUE, returned=None)
