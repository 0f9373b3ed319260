"""Fencepost's own histories as calls, for models and for other tools' formats.

An operation's object is its resource. Tokens of writes and reads are left out: a
register does not know them. A hold under a lease may end without a release, which no
mutex allows, so such a history is judged by its own checkers, not by a model.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from checkers.formats.event import Call, Foreign
from checkers.formats.initial_values import first_writes
from checkers.formats.operations import PROTECTED
from checkers.formats.text import Text
from checkers.history.operation import NO_VALUE
from checkers.history.reader import parse
from checkers.history.records import History, Op, Outcome

_READS = frozenset({"read", "acquire"})


def read(text: Text) -> Foreign:
    """Read a history.jsonl; HistoryError if it cannot be the record of a run."""
    history = parse(io.BytesIO(text.content.encode()), text.name)
    leased = history.header.ttl is not None or any(op.ttl is not None for op in history.operations)
    all_calls = (*_initial_writes(history), *calls(history))
    return Foreign(name=text.name, calls=all_calls, notices=history.notices, leased=leased, is_ours=True)


def calls(history: History) -> tuple[Call, ...]:
    """Return the operations of a history as calls; at equal times all calls come before all returns."""
    called = [(op.called, False, op.lines[0], (op.index, 0)) for op in history.operations]
    places = _places(
        [*called, *((op.learned, True, op.lines[-1], (op.index, 1)) for op in history.operations)]
    )
    return tuple(_call(op, places) for op in history.operations)


def _initial_writes(history: History) -> Iterator[Call]:
    """Yield the initial value, as a write before everything else."""
    if history.header.initial_value is None:
        return
    resources = dict.fromkeys(op.resource for op in history.operations if op.f in PROTECTED)
    others = [op.process for op in history.operations]
    yield from first_writes(history.header.initial_value, resources, others, history.started)


_Moment = tuple[int, int]  # an operation's index, and 0 for its call or 1 for its completion


def _places(moments: Iterable[tuple[int | None, bool, int, _Moment]]) -> dict[_Moment, int]:
    """Return the position of each moment in one order of all: by time, whether it comes later, and line."""
    known = [moment for moment in moments if moment[0] is not None]
    return {moment: place for place, (*_, moment) in enumerate(sorted(known))}


def in_process_order(recorded: Sequence[Call]) -> list[Call]:
    """Return our calls as other tools accept them: each process sends a request only after its last answer.

    For us, an operation that is called when another returns is concurrent with it, even in one process.
    """
    ends = {(call.process, call.times[1]) for call in recorded if call.completed is not None}
    real = [(index, call) for index, call in enumerate(recorded) if call.called >= 0]  # no initial writes
    calls = [
        (each.times[0], (each.process, each.times[0]) in ends, each.lines[0], (at, 0)) for at, each in real
    ]
    places = _places([*calls, *((each.times[1], True, each.lines[-1], (at, 1)) for at, each in real)])
    return [
        replace(
            call, called=places.get((index, 0), call.called), completed=places.get((index, 1), call.completed)
        )
        for index, call in enumerate(recorded)
    ]


def _call(op: Op, places: dict[_Moment, int]) -> Call:
    ok = op.outcome is Outcome.OK
    answered = (op.token if op.f == "acquire" else op.value) if ok else NO_VALUE
    return Call(
        process=op.process,
        f=op.f,
        asked=None if op.f in _READS else op.value,
        answered=answered,
        outcome=op.outcome,
        key=op.resource,
        called=places[op.index, 0],
        completed=places.get((op.index, 1)),
        times=(op.called, op.learned),
        lines=op.lines,
    )
