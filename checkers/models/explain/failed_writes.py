"""The failed change whose value a client saw, although it should have had no effect."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from checkers.formats.event import Call
from checkers.formats.operations import ModelInput
from checkers.formats.values import pair_of
from checkers.history.operation import NO_VALUE
from checkers.history.records import Outcome


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
