"""Random histories of one register, as calls, for tests of formats."""

from __future__ import annotations

from hypothesis import strategies as st

from checkers.formats.event import Call, Event
from checkers.formats.pairing import pair
from checkers.operation import UNKNOWN

VALUES = (None, 0, 1, 2)


@st.composite
def events(draw, cas=True):
    """Events of a few processes, each doing one thing at a time; answers are drawn, right or wrong."""
    free, busy, made = [0, 1, 2], {}, []
    fresh = 3
    for _ in range(draw(st.integers(0, 12))):
        if busy and (not free or draw(st.booleans())):
            process = draw(st.sampled_from(sorted(busy)))
            f, asked = busy.pop(process)
            kind = draw(st.sampled_from(["ok", "ok", "ok", "fail", "info"]))
            value = draw(st.sampled_from(VALUES)) if f == "read" and kind == "ok" else asked
            refused = kind == "fail" and f == "cas" and draw(st.booleans())
            made.append((process, kind, f, value, refused))
            if kind == "info":
                process, fresh = fresh, fresh + 1
            free.append(process)
        elif free:
            process = free.pop(draw(st.integers(0, len(free) - 1)))
            f = draw(st.sampled_from(["read", "write", *(["cas"] if cas else [])]))
            asked = {
                "read": st.none(),
                "write": st.sampled_from(VALUES[1:]),
                "cas": st.tuples(st.sampled_from(VALUES[1:]), st.sampled_from(VALUES[1:])),
            }[f]
            busy[process] = (f, draw(asked))
            made.append((process, "invoke", *busy[process], False))
    return [
        Event(line=line, process=process, type=kind, f=f, value=value, refused=refused, time=10 * line)
        for line, (process, kind, f, value, refused) in enumerate(made, start=1)
    ]


def calls(made: list[Event]) -> tuple[Call, ...]:
    return pair(made, "drawn").calls


def meaning(call: Call) -> tuple[object, ...]:
    """What two calls must share to be the same, wherever they are written."""
    answered = call.answered if call.f == "read" else UNKNOWN
    return (call.process, call.f, call.asked, answered, call.outcome, call.refused, call.seen, call.key)


def precedence(history: tuple[Call, ...]) -> list[list[bool]]:
    return [[a.returned is not None and a.returned < b.called for b in history] for a in history]
