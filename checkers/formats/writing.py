"""Exports histories to other tools' formats, and imports theirs into ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from checkers.formats import jepsen, porcupine
from checkers.formats.atoms import Keyword
from checkers.formats.event import Call, CallError, Foreign
from checkers.formats.fencepost import in_process_order
from checkers.formats.grants import grants_of, op_of, rising_times
from checkers.formats.initial_values import HAS_INITIAL, first_writes, start_of
from checkers.formats.keys import name_of
from checkers.formats.operations import VOCABULARY, operations, token, with_article
from checkers.formats.other_operations import counted, not_kept, operations_of
from checkers.formats.values import INT64, written
from checkers.history.operation import NO_VALUE
from checkers.history.records import History, Op, Outcome
from checkers.text.errors import HistoryError
from checkers.text.nearest import nearest
from checkers.text.places import cited
from checkers.text.printable import in_16_bits

WRITERS = {"jepsen-edn": jepsen.write_edn, "porcupine-etcd": porcupine.write_etcd}
"""The formats of other tools, with their writers."""

_NO_INITIAL = "history.jsonl has an initial value only for a register, with --model register"
_MOST_KEYS = 20  # in the message about an unknown key


def export(
    history: Foreign, form: str, model: str | None = None, key: str | None = None, initial: object = NO_VALUE
) -> Iterator[str]:
    """Yield a history's lines for another tool: all, or a model's operations, or one object's.

    The initial value of registers, if given, is written first.

    Raises:
        HistoryError: the format cannot express it.
    """
    recorded = in_process_order(history.calls) if history.is_ours else history.calls
    calls = _about(recorded, key)
    if key is not None and not calls:
        raise HistoryError(history.name, 1, f"no operation is about {key}{_hint(history.calls, key)}")
    if model is not None:
        calls = operations_of(model, calls, history.name)
    if initial is not NO_VALUE:
        calls = [*_first_writes(history, calls, initial), *calls]
    try:
        return WRITERS[form](calls)
    except CallError as error:
        raise HistoryError(history.name, error.line, str(error)) from None
    except ValueError as error:
        raise HistoryError(history.name, 1, str(error)) from None


def not_exported(history: Foreign, model: str | None, key: str | None = None) -> Iterator[str]:
    """Yield sentences about the operations that `export` leaves out because a model does not have them."""
    return iter(()) if model is None else not_kept(model, _about(history.calls, key))


def _about(calls: Sequence[Call], key: str | None) -> list[Call]:
    if key is None:
        return list(calls)
    return [call for call in calls if call.key is not None and key in {call.key, name_of(call.key)}]


def _first_writes(history: Foreign, calls: Sequence[Call], initial: object) -> Iterator[Call]:
    if history.is_ours:
        raise HistoryError(history.name, 1, HAS_INITIAL)
    if not all(call.f in VOCABULARY["cas-register"] for call in calls):
        problem = "an export has the initial value as a write, and only registers have writes: drop --initial"
        raise HistoryError(history.name, 0, problem)
    keys = dict.fromkeys(call.key for call in calls)
    return first_writes(start_of("register", initial), keys, (call.process for call in history.calls))


def as_ours(history: Foreign, model: str, initial: object = NO_VALUE) -> Iterator[str]:
    """Yield the lines of a history.jsonl: a lock's grants with their tokens, or a register's unique values.

    A register is written as a storage without a fence: every token is 0. It starts with `initial`, if given.

    Raises:
        HistoryError: history.jsonl cannot express it.
    """
    judged = operations(history, model)  # refuses operations unknown to the model
    if model == "register":
        return _lines(_register(history, judged.calls, initial))
    way_out = f"judge the file itself, with --model {model}"
    if initial is not NO_VALUE:
        raise HistoryError(history.name, 0, f"{_NO_INITIAL}; {way_out}")
    if model.endswith("mutex"):
        _check_tokens(history.name, judged.calls)
        return _lines(grants_of(history, reentrant=model.startswith("reentrant")))
    raise HistoryError(history.name, 1, f"history.jsonl cannot express {with_article(model)}; {way_out}")


def left_out(history: Foreign, model: str) -> Iterator[str]:
    """Yield sentences about the operations that `as_ours` does not write."""
    if model.endswith("mutex"):
        granted = [call for call in history.calls if call.f == "acquire" and call.outcome is Outcome.OK]
        if bare := sum(token(call) is None for call in granted):
            yield f"{counted(bare)} left out: a grant without a token shows nothing about tokens"
        return
    yield from not_kept(model, history.calls)
    judged = operations(history, model)
    if judged.failed:
        yield f"{counted(len(judged.failed))} left out: a failure shows nothing"
    known = sum(call.f in VOCABULARY[model] for call in history.calls)
    if unread := known - len(judged.calls) - len(judged.failed):
        yield f"{counted(unread)} left out: a read without an answer shows nothing"


def _check_tokens(file: str, calls: Sequence[Call]) -> None:
    for call in calls:
        try:
            given = token(call) if call.f == "acquire" else None
        except ValueError as error:
            raise HistoryError(file, call.lines[-1], str(error)) from None
        if given is not None and given < 0:
            problem = f"token {given} is below 0, but tokens in history.jsonl start at 0"
            raise HistoryError(file, call.lines[-1], problem)


def _hint(calls: Sequence[Call], key: str) -> str:
    known = list(dict.fromkeys(name_of(call.key) for call in calls if call.key is not None))
    if near := nearest(key, known):
        return f"; did you mean {near}?"
    return f"; there are: {', '.join(known[:_MOST_KEYS])}" if known else "; it has one object, without a name"


def _register(history: Foreign, calls: Sequence[Call], initial: object) -> History:
    if initial is not NO_VALUE and history.is_ours:
        raise HistoryError(history.name, 1, HAS_INITIAL)
    start = None if initial is NO_VALUE else _value(history.name, 0, start_of("register", initial))
    times = rising_times(calls)
    places: dict[object, str] = {start: "before anything is written"}
    for call in calls:
        if call.f == "write":
            value = _value(history.name, call.lines[0], call.asked)
            if value in places:
                problem = f"value {written(value)} is also written {places[value]}; in history.jsonl each"
                problem += " value is unique: judge the file itself, with --model"
                raise HistoryError(history.name, call.lines[0], problem)
            places[value] = f"at {cited(call.lines[0])}"
    made = []
    for index, call in enumerate(calls):
        seen = call.answered if call.outcome is Outcome.OK else None
        value = _value(history.name, call.lines[0], call.asked if call.f == "write" else seen)
        made.append(replace(op_of(call, "register", index, times), token=0, value=value))
    bare = grants_of(replace(history, calls=()), reentrant=False)
    return replace(bare, header=replace(bare.header, initial_value=start), operations=tuple(made))


def _value(file: str, line: int, value: object) -> str | int | None:
    if value is None or isinstance(value, str) or (isinstance(value, int) and abs(value) < INT64):
        return value
    if isinstance(value, Keyword):
        return repr(value)
    raise HistoryError(file, line, f"history.jsonl holds texts, numbers and null, not {written(value)}")


def _lines(history: History) -> Iterator[str]:
    for op in history.operations:
        if max(op.called, op.learned or 0) >= INT64:
            problem = "made to rise, its time is beyond 64 bits"
            raise HistoryError(history.header.target, op.lines[-1], problem)
    rules = {"fenced": False, "policy": "inclusive", "require": {"stale_writes_attempted": 0}}
    header: dict[str, Any] = {"fencepost": 1, "target": history.header.target, **rules}
    if history.header.initial_value is not None:
        header["initial"] = {"value": history.header.initial_value, "token": history.header.initial_token}
    yield _line(header)
    events = [event for op in history.operations for event in _events(op)]
    events.sort(key=lambda event: int(event["time"]))
    yield from map(_line, events)


def _events(op: Op) -> Iterator[dict[str, Any]]:
    head = {"process": op.process, "f": op.f, "resource": op.resource}
    if op.owner is not None:
        head["owner"] = op.owner
    carried: dict[str, Any] = {"token": op.token}
    if op.f in {"read", "write"}:
        carried["value"] = op.value
    asked = carried if op.f == "write" else {}
    answer = carried if op.outcome is Outcome.OK and op.f in {"read", "acquire"} else asked
    yield {"time": op.called, "type": "invoke"} | head | asked
    if op.learned is not None:
        yield {"time": op.learned, "type": op.outcome.value} | head | answer


def _line(fields: dict[str, Any]) -> str:
    return in_16_bits(msgspec.json.encode(fields).decode()) + "\n"
