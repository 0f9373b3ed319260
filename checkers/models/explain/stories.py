"""Explains why no order of the operations fits the answers that the clients got."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from checkers.explain.cycles import around
from checkers.explain.story import Step, step
from checkers.formats.event import Call
from checkers.formats.keys import name_of
from checkers.formats.operations import ModelInput, resource
from checkers.formats.values import pair_of
from checkers.history.operation import NO_VALUE
from checkers.history.records import Outcome
from checkers.models.budget import Resource
from checkers.models.explain.call_phrases import CallWords, answer, as_sentence, noun, shown, what, whom
from checkers.models.explain.proofs import Judge, OrderProof, smallest
from checkers.models.model_verdict import DEAD_ENDS_SHOWN, Clash, Contradiction, DeadEnd
from checkers.models.objects import Fenced, FencedNested, Nested, Unseen
from checkers.text.places import cited
from checkers.vocabulary.verdict import Account, Finding

if TYPE_CHECKING:  # networkx is slow to load, and only explanations need it
    from checkers.reference.precedence import Node

_MOST_LISTED = 4
_MOST_IN_FLIGHT = 6
_WHOLE_CLASH = 4  # the number of operations in a clash of two blocks that must each come before the other
_CASES = "what the object may hold, and which of the operations in progress have happened"
_TOO_MUCH = {
    Resource.MEMORY: f"the possible cases ({_CASES}) need too much memory",
    Resource.STEPS: f"there are too many possible cases ({_CASES})",
}
_STANDING = {
    Contradiction.BOTH_FIRST: step("The initial value came before everything else."),
    Contradiction.BOTH_HELD: step("A hold that was never released lasts to the end."),
}


def story(
    model: str, initial: Hashable, judged: ModelInput, conflict: Clash | DeadEnd, judge: Judge
) -> Finding:
    """Return one finding for a conflict that `judge` found; it is explained on demand."""
    if isinstance(conflict, Clash):
        accused, tell = conflict.operations[-1], partial(_clash, model, initial, judged, conflict, judge)
    else:
        accused, tell = conflict.operation, partial(_dead_end, model, initial, judged, conflict, judge)
    about = resource(judged.calls[accused], model)
    return Finding(anomaly="non-linearizable", resource=about, accused=accused, tell=tell)


def gave_up(call: Call, spent: Resource) -> str:
    """Say why it is unknown whether an order explains the answers."""
    return (
        f"the search gave up{_on(call)}: {_TOO_MUCH[spent]}, and so far none of them explains the answer to"
        f" process {call.process} at {cited(call.lines[-1])}; it costs less to judge a history with fewer"
        " operations in progress at the same time, or without an answer"
    )


def _clash(model: str, initial: Hashable, judged: ModelInput, clash: Clash, judge: Judge) -> Account:
    proof = smallest(model, judged.operations, clash.operations, None, judge)
    calls = [judged.calls[position] for position in clash.operations]
    last = max(calls, key=lambda call: call.lines[-1])
    failed = failed_source(judged, last)
    because = _because(clash, failed)
    steps = _cycle(judged, proof, model, initial, because) or _one_by_one(clash, calls, failed)
    return _account(last, because, judged.calls, proof, steps)


def _because(clash: Clash, failed: Call | None) -> str:
    """Say why no order can explain it; an initial value is no value of two writes."""
    if failed is not None:
        return f"a value was seen whose {noun(failed)} had failed ({cited(failed.lines[-1])})"
    if clash.contradiction is Contradiction.BOTH_FIRST and len(clash.operations) < _WHOLE_CLASH:
        return "the initial value was seen after another value had replaced it"
    return clash.contradiction


def _dead_end(model: str, initial: Hashable, judged: ModelInput, end: DeadEnd, judge: Judge) -> Account:
    call = judged.calls[end.operation]
    until = judged.operations[end.operation].returned
    proof = smallest(model, judged.operations, [end.operation], until, judge)
    failed = failed_source(judged, call)
    but = "" if failed is None else f", whose {noun(failed)} had failed ({cited(failed.lines[-1])})"
    moral = f"no order of these operations has the answer of {cited(call.lines[-1])}"
    steps = _cycle(judged, proof, model, initial, moral) or _states_and_answer(model, judged, end, failed)
    return _account(call, answer(call) + but, judged.calls, proof, steps)


def _account(
    call: Call, because: str, calls: Sequence[Call], proof: OrderProof, steps: Iterable[Step]
) -> Account:
    """Return the account of a call whose answer no order explains; of an open one, only the call is proof."""
    lines: set[int] = set()
    for position in proof.positions:
        lines.update(calls[position].lines[:1] if position in proof.open else calls[position].lines)
    doubt = "a smaller set of operations that is wrong by itself was not found within the budget"
    return Account(
        summary=(
            f"no order of the operations{_on(call)} explains the answer to process {call.process}"
            f" at {cited(call.lines[-1])}: {because}"
        ),
        operations=tuple(sorted(lines)),
        steps=tuple(each.proved() for each in steps),
        doubt="" if proof.is_smallest else doubt,
    )


def _cycle(
    judged: ModelInput, proof: OrderProof, model: str, initial: Hashable, moral: str
) -> tuple[Step, ...]:
    """Return the shortest cycle; none if it is uncertain who saw what, or the object is no register."""
    if model not in {"register", "cas-register"}:
        return ()
    from checkers.reference.models import RegisterOfOne

    register = RegisterOfOne(operations=proof.operations, initial=initial)
    sources: dict[int, Node] = {}
    while left := [seer for seer in register.seers(sources) if seer not in sources]:
        possible = list(register.possible_sources(left[0]))
        if len(possible) != 1:
            return ()
        sources[left[0]] = possible[0]
    order = register.order(sources)
    if order.saturate():
        return ()
    calls = [judged.calls[each] for each in proof.positions]
    return around(order.shortest_cycle(), calls, CallWords(calls, initial).step, moral)


def _one_by_one(clash: Clash, calls: Sequence[Call], failed: Call | None) -> tuple[Step, ...]:
    """Describe each call with its answer, and the order that they force."""
    return (
        *_that_failed(failed),
        *dict.fromkeys(map(_answered, calls)),
        *_reasons(clash.contradiction, calls),
        step(f"This is impossible: {_because(clash, failed)}."),
    )


def _reasons(contradiction: Contradiction, calls: Sequence[Call]) -> list[Step]:
    reasons = [
        _before(first, then)
        for first, then in itertools.pairwise(calls)
        if first.returned is not None and first.returned < then.called
    ]
    if len(calls) < _WHOLE_CLASH and contradiction in _STANDING:
        reasons.append(_STANDING[contradiction])
    return reasons


def _before(first: Call, then: Call) -> Step:
    ended = f"The {noun(first)} of process {first.process} had ended ({cited(first.lines[-1])})"
    began = f"the {noun(then)} of process {then.process} began ({cited(then.lines[0])})"
    return step(f"{ended} before {began}: it came first.", first, then)


def _answered(call: Call) -> Step:
    return step(as_sentence(call), call)


def _that_failed(call: Call | None) -> Iterator[Step]:
    if call is not None:
        asked = f"{whom(call).capitalize()} asked for {what(call)} ({cited(call.lines[0])})"
        yield step(f"{asked}, which failed ({cited(call.lines[-1])}): what fails has no effect.", call)


def _states_and_answer(model: str, judged: ModelInput, end: DeadEnd, failed: Call | None) -> tuple[Step, ...]:
    """Say which states the object can have had by then, and that the answer fits none of them."""
    call = judged.calls[end.operation]
    seen = (*_that_failed(failed), _answered(call))
    if not end.configurations:
        return (*seen, step(f"Even without the other reads{_on(call)}, no order has this answer."))
    states = sorted({_state(model, one.state) for one in end.configurations})
    more = len(end.configurations) >= DEAD_ENDS_SHOWN or len(states) > _MOST_LISTED
    possible = " or ".join(states[:_MOST_LISTED]) + (", among others" if more else "")
    before = f"Every answer{_on(call)} before {cited(call.lines[-1])} can be explained"
    under_way = _open_then(judged.calls, call)
    several = len(states) > 1
    none = "In none of these cases is this the answer" if several else "But then this cannot be the answer"
    first = ", whichever of those is taken to have happened first" if under_way else ""
    beginning = step(f"{before}, and then {possible}.")
    return (beginning, _under_way(under_way, call), *seen, step(f"{none}{first}."))


def _state(model: str, state: Hashable) -> str:
    match state:
        case Fenced() | FencedNested():
            token = f"the last token was {state.mark}" if state.mark >= 0 else "no token is known"
            return f"{_held(state.owner)} and {token}"
        case Nested():
            return _held(state.owner)
        case Unseen():
            return "the value is one that was never seen"
    match model:
        case "mutex":
            return "the lock is held" if state else "the lock is free"
        case "owned-mutex":
            return _held(state)
        case "set":
            return f"the set is {shown(state)}"
        case "counter":
            return f"the total is {state}"
    return f"the value is {shown(state)}"


def _held(owner: Hashable) -> str:
    return "the lock is free" if owner is None else f"process {owner} holds the lock"


def _open_then(calls: Sequence[Call], call: Call) -> list[Call]:
    """Return the unanswered calls on the same object when a call was answered."""
    end = call.returned or 0
    return [
        other
        for other in calls
        if other.key == call.key and other is not call
        if other.called < end and (other.returned is None or other.returned > end)
    ]


def _under_way(open_then: Sequence[Call], call: Call) -> Step:
    """Say which operations may have taken effect by then, or not."""
    if not open_then:
        return step(f"Nothing else was in progress{_on(call)} when {cited(call.lines[-1])} was written.")
    first = open_then[:_MOST_IN_FLIGHT]
    listed = "; ".join(f"{what(each)} by process {each.process} ({cited(each.lines[0])})" for each in first)
    more = f"; and {left} more" if (left := len(open_then) - _MOST_IN_FLIGHT) > 0 else ""
    return step(f"Under way, or without an answer, were: {listed}{more}.", *first)


def _on(call: Call) -> str:
    return "" if call.key is None else f" on {name_of(call.key)}"


def failed_source(judged: ModelInput, seer: Call) -> Call | None:
    """Return the failed call that wrote what was seen; None if another call can have written it."""
    seen = frozenset(_seen(seer))
    for failed in judged.failed:
        if failed.key == seer.key and (found := seen.intersection(_written(failed))):
            others = (call for call in judged.calls if call.key == seer.key)
            if not any(found.intersection(_written(call)) for call in others):
                return failed
    return None


def _written(call: Call) -> Iterator[Hashable]:
    if call.f in {"write", "put", "append", "add"}:
        yield call.asked
    elif call.f == "cas" and not call.refused and (change := pair_of(call.asked)):
        yield change[1]


def _seen(call: Call) -> Iterator[Hashable]:
    if call.f == "cas":
        change = pair_of(call.asked) if call.outcome is Outcome.OK else None
        yield call.seen if change is None else change[0]
    elif call.f == "contains":
        yield call.asked
    elif call.outcome is Outcome.OK and call.f in {"read", "get"} and call.answered is not NO_VALUE:
        yield call.answered
        if isinstance(call.answered, frozenset | tuple):
            yield from call.answered  # the elements of a set
