"""How it is told that no order of the operations explains what the clients were told."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from functools import partial

from checkers.formats.event import Call
from checkers.formats.operations import Operations, resource
from checkers.formats.values import thawed
from checkers.judgement import DEAD_ENDS_SHOWN, Clash, Contradiction, DeadEnd
from checkers.models import Fenced, FencedNested, Nested
from checkers.operation import UNKNOWN
from checkers.records import Outcome
from checkers.verdict import Account, Finding

_MOST_LISTED = 4
_WHOLE_CLASH = 4  # operations, where two blocks must each stand before the other
_STANDING = {
    Contradiction.BOTH_FIRST: "What stood there from the start came before everything else.",
    Contradiction.BOTH_HELD: "A hold that was never released goes on to the end.",
}
_CHANGES = 3  # operations that the proof names beside the one that nothing explains


def story(model: str, judged: Operations, conflict: Clash | DeadEnd) -> Finding:
    """One finding for a conflict; it is told when it is asked for."""
    if isinstance(conflict, Clash):
        accused, tell = conflict.operations[-1], partial(_clash, judged, conflict)
    else:
        accused, tell = conflict.operation, partial(_dead_end, model, judged, conflict)
    return Finding(
        anomaly="non-linearizable",
        resource=resource(judged.calls[accused], model),
        accused=accused,
        tell=tell,
    )


def _clash(judged: Operations, clash: Clash) -> Account:
    calls = [judged.calls[position] for position in clash.operations]
    last = max(calls, key=lambda call: call.lines[-1])
    return Account(
        summary=(
            f"no order of the operations{_on(last)} explains what process {last.process} was told"
            f" at line {last.lines[-1]}: {clash.contradiction}"
        ),
        operations=_lines(calls),
        steps=(
            *dict.fromkeys(map(_told, calls)),
            *_reasons(clash.contradiction, calls),
            f"That cannot be: {clash.contradiction}.",
        ),
    )


def _reasons(contradiction: Contradiction, calls: Sequence[Call]) -> list[str]:
    """What came before what, and why."""
    reasons = [
        _before(first, then)
        for first, then in itertools.pairwise(calls)
        if first.returned is not None and first.returned < then.called
    ]
    if len(calls) < _WHOLE_CLASH and contradiction in _STANDING:
        reasons.append(_STANDING[contradiction])
    return reasons


def _before(first: Call, then: Call) -> str:
    return (
        f"The {_noun(first)} of process {first.process} had ended (line {first.lines[-1]}) before the"
        f" {_noun(then)} of process {then.process} began (line {then.lines[0]}): it came first."
    )


def _noun(call: Call) -> str:
    return "change" if call.f == "cas" else call.f


def _dead_end(model: str, judged: Operations, end: DeadEnd) -> Account:
    call = judged.calls[end.operation]
    others = [other for other in judged.calls if other.key == call.key and other is not call]
    line = call.lines[-1]
    return Account(
        summary=(
            f"no order of the operations{_on(call)} explains what process {call.process} was told"
            f" at line {line}: {_answer(call)}"
        ),
        operations=_lines([*_changes_before(others, call), call]),
        steps=(
            f"All that was answered before line {line} can be explained, and then {_states(model, end)}.",
            _under_way(others, call),
            _told(call),
            "In none of these cases, whatever of that is taken to have happened first, is this the answer.",
        ),
    )


def _states(model: str, end: DeadEnd) -> str:
    """What the object can be like, one way or another of explaining what came before."""
    states = list(dict.fromkeys(_state(model, one.state) for one in end.configurations))
    more = len(end.configurations) >= DEAD_ENDS_SHOWN or len(states) > _MOST_LISTED
    return " or ".join(states[:_MOST_LISTED]) + (", among others" if more else "")


def _state(model: str, state: Hashable) -> str:
    match state:
        case Fenced() | FencedNested():
            return f"{_held(state.owner)} and the last token was {state.mark}"
        case Nested():
            return _held(state.owner)
    match model:
        case "mutex":
            return "somebody holds the lock" if state else "nobody holds the lock"
        case "owned-mutex":
            return _held(state)
        case "set":
            return f"the set is {sorted(map(repr, state)) if isinstance(state, frozenset) else state!r}"
        case "counter":
            return f"the total is {state}"
    return f"{_shown(state)} stands there"


def _held(owner: Hashable) -> str:
    return "nobody holds the lock" if owner is None else f"process {owner} holds the lock"


def _under_way(others: Sequence[Call], call: Call) -> str:
    """Which operations may have taken effect by then, or not."""
    end = call.returned or 0
    open_then = [
        other for other in others if other.called < end and (other.returned is None or other.returned > end)
    ]
    if not open_then:
        return f"Nothing else was under way when line {call.lines[-1]} was written."
    listed = "; ".join(
        f"{_what(other)} by process {other.process} (line {other.lines[0]})" for other in open_then[:6]
    )
    more = f"; and {len(open_then) - 6} more" if len(open_then) > 6 else ""  # noqa: PLR2004
    return f"Under way, or without an answer, were: {listed}{more}."


def _changes_before(others: Sequence[Call], call: Call) -> list[Call]:
    """The last changes that had been answered by then."""
    done = [
        other
        for other in others
        if other.f not in {"read", "get", "contains"}
        and other.outcome is Outcome.OK
        and other.returned is not None
        and other.returned < (call.returned or 0)
    ]
    return sorted(done, key=lambda other: other.returned or 0)[-_CHANGES:]


def _told(call: Call) -> str:
    """One operation as a sentence."""
    asked = f"Process {call.process} asked for {_what(call)} (line {call.lines[0]})"
    if call.outcome is Outcome.INFO:
        return f"{asked}, and nobody knows what came of it."
    return f"{asked} and was told: {_answer(call)} (line {call.lines[-1]})."


def _what(call: Call) -> str:
    match call.f, call.asked:
        case "cas", (expected, new):
            return f"a change from {_shown(expected)} to {_shown(new)}"
        case (("read" | "get" | "acquire" | "release"), _):
            return f"{'an' if call.f == 'acquire' else 'a'} {call.f}"
    return f"{'an' if call.f[0] in 'aeiou' else 'a'} {call.f} of {_shown(call.asked)}"


def _answer(call: Call) -> str:
    if call.outcome is Outcome.FAIL:
        found = "another value" if call.seen is UNKNOWN else _shown(call.seen)
        return f"refused, {found} stands there"
    if call.f in {"read", "get", "contains"}:
        return _shown(call.answered)
    if call.f == "acquire" and call.answered not in {UNKNOWN, None}:
        return f"granted, {_shown(call.answered)}"
    return f"{call.f} done"


def _shown(value: Hashable) -> str:
    plain = thawed(value)
    text = "nothing" if plain is None else repr(plain)
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - as much as a sentence bears


def _on(call: Call) -> str:
    return "" if call.key is None else f" on {call.key}"


def _lines(calls: Sequence[Call]) -> tuple[int, ...]:
    return tuple(sorted({line for call in calls for line in call.lines[:1]} | {calls[-1].lines[-1]}))
