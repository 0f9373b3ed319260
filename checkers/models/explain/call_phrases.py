"""Words for the calls of foreign histories, and for the reasons of their order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, cast

from checkers.explain.story import Step, step
from checkers.formats.event import Call
from checkers.formats.operations import with_article
from checkers.formats.values import written
from checkers.history.operation import NO_VALUE, expected_and_new
from checkers.history.records import Outcome
from checkers.text.places import cited

if TYPE_CHECKING:
    from checkers.reference.precedence import Edge, Node

_MOST_SHOWN = 60  # characters of a value
_BEFORE = "what stood there from the start"


class CallWords:
    """The words for the edges between some calls on a register, which are named by position."""

    def __init__(self, calls: Sequence[Call], initial: Hashable) -> None:
        self.operations = calls
        self._initial_value = initial
        self._steps: dict[str, Callable[[Edge], str]] = {
            "INITIAL": self._initial,
            "READ_FROM": self._read_from,
            "REAL_TIME": self._real_time,
            "REPLACED": self._replaced,
            "WRITTEN_LATER": self._written_later,
        }

    def step(self, edge: Edge) -> Step:
        """Say why one call came before the other."""
        nodes = [edge.before, edge.after]
        if edge.reason.name == "WRITTEN_LATER":
            nodes.append(edge.premise[-1].after)
        about = [self.operations[node] for node in nodes if isinstance(node, int)]
        return step(self._steps[edge.reason.name](edge), *about)

    def name(self, node: Node) -> str:
        """Name a call within a sentence."""
        if not isinstance(node, int):
            return _BEFORE
        call = self.operations[node]
        return f"the {noun(call)} at {cited(call.lines[0])}"

    def _both(self, edge: Edge) -> str:
        return f"{self.name(edge.before)} came before {self.name(edge.after)}"

    def _ends(self, edge: Edge) -> tuple[Call, Call]:
        return self.operations[cast("int", edge.before)], self.operations[cast("int", edge.after)]

    def _found(self, node: Node) -> str:
        """Say what a call found there, or put there."""
        if not isinstance(node, int):
            return f"is about {shown(self._initial_value)}"
        call = self.operations[node]
        if call.f == "read":
            return f"it found {shown(call.answered)}"
        if call.f != "cas":
            return f"it put {shown(call.asked)} there"
        expected, new = expected_and_new(call.asked)
        if call.outcome is not Outcome.FAIL:
            return f"it found {shown(expected)} and put {shown(new)} there"
        different = f"something else than {shown(expected)}"
        return f"it found {different if call.seen is NO_VALUE else shown(call.seen)}"

    def _put(self, node: Node) -> str:
        """Say what a change put there."""
        if not isinstance(node, int):
            return shown(self._initial_value)
        call = self.operations[node]
        return shown(expected_and_new(call.asked)[1] if call.f == "cas" else call.asked)

    def _initial(self, edge: Edge) -> str:
        return f"{_BEFORE.capitalize()} ({shown(self._initial_value)}) came before {self.name(edge.after)}."

    def _real_time(self, edge: Edge) -> str:
        before, after = self._ends(edge)
        return (
            f"By real time, {self._both(edge)}: {whom(before)} got its answer,"
            f" {answer(before)} ({cited(before.lines[-1])}), before {whom(after)} asked for {what(after)}"
            f" ({cited(after.lines[0])})."
        )

    def _read_from(self, edge: Edge) -> str:
        because = f"{self._found(edge.after)}, and nothing else can have put that there"
        return f"By what was seen, {self._both(edge)}: {because}."

    def _replaced(self, edge: Edge) -> str:
        because = f"that was gone once {self._put(edge.after)} had replaced it"
        return f"So {self._both(edge)}: {self._found(edge.before)}, and {because}."

    def _written_later(self, edge: Edge) -> str:
        return (
            f"So {self._both(edge)}: {self._found(edge.before)}, {self.name(edge.premise[-1].after)} still"
            f" was about {self._put(edge.after)} later, and what was replaced does not come back by itself."
        )


def whom(call: Call) -> str:
    """Name the process of a call."""
    return f"process {call.process}"


def noun(call: Call) -> str:
    """Name the kind of a call."""
    return "change" if call.f == "cas" else call.f


def as_sentence(call: Call) -> str:
    """Describe one operation in a sentence."""
    asked = f"Process {call.process} asked for {what(call)} ({cited(call.lines[0])})"
    if call.outcome is Outcome.INFO:
        return f"{asked}, and its outcome is unknown."
    return f"{asked} and got the answer: {answer(call)} ({cited(call.lines[-1])})."


def what(call: Call) -> str:
    """Say what was asked for."""
    match call.f, call.asked:
        case "cas", (expected, new):
            return f"a change from {shown(expected)} to {shown(new)}"
        case (("read" | "get" | "acquire" | "release"), _):
            return with_article(call.f)
    return f"{with_article(call.f)} of {shown(call.asked)}"


def answer(call: Call) -> str:
    """Say which answer the client got."""
    if call.outcome is Outcome.FAIL:
        return f"refused, the value was {'different' if call.seen is NO_VALUE else shown(call.seen)}"
    if call.f in {"read", "get", "contains"}:
        return shown(call.answered)
    if call.f == "acquire" and call.answered not in {NO_VALUE, None}:
        return f"granted, {shown(call.answered)}"
    return f"{noun(call)} done"


def shown(value: Hashable) -> str:
    """Format a value, shortened for a sentence."""
    if value is None:
        return "nothing"
    if value in (frozenset(), ()):
        return "an empty set" if isinstance(value, frozenset) else "an empty list"
    return written(value, _MOST_SHOWN)
