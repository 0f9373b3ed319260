"""Our own histories as calls, for models and for other tools' formats.

An operation's object is its resource. Tokens of writes and reads are left out: a
register does not know them. A hold under a lease may end by itself, which no
mutex does, so such a history is judged by its own checkers, not by a model.
"""

from __future__ import annotations

import io

from checkers.formats.event import Call, Foreign
from checkers.formats.text import Text
from checkers.history import parse
from checkers.operation import UNKNOWN
from checkers.records import History, Op, Outcome

_READS = frozenset({"read", "acquire"})


def read(text: Text) -> Foreign:
    """Read a history.jsonl.

    Raises:
        HistoryError: it cannot be the record of a run.
    """
    history = parse(io.BytesIO(text.content.encode()), text.name)
    leased = history.header.ttl is not None or any(op.ttl is not None for op in history.operations)
    return Foreign(name=text.name, calls=calls(history), notices=history.notices, leased=leased)


def calls(history: History) -> tuple[Call, ...]:
    """The operations of a history as calls; at equal times calls come before returns."""
    places = _places(history)
    return tuple(_call(op, places) for op in history.operations)


_Moment = tuple[int, int]
"""An operation's index, and 0 for its call or 1 for its completion."""


def _places(history: History) -> dict[_Moment, int]:
    """The place of each moment in one order of all.

    At equal times calls come first, as far as one process' own order lets them.
    """
    ends = {(op.process, op.learned) for op in history.operations if op.learned is not None}
    moments: list[tuple[int, bool, int, _Moment]] = []
    for op in history.operations:
        moments.append((op.called, (op.process, op.called) in ends, op.lines[0], (op.index, 0)))
        if op.learned is not None:
            moments.append((op.learned, True, op.lines[-1], (op.index, 1)))
    return {moment: place for place, (*_, moment) in enumerate(sorted(moments))}


def _call(op: Op, places: dict[_Moment, int]) -> Call:
    ok = op.outcome is Outcome.OK
    answered = (op.token if op.f == "acquire" else op.value) if ok else UNKNOWN
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
