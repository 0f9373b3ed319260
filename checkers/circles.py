"""A contradiction, step by step: operations each of which must have come before the next, in a circle.

The circle is the shortest one in the precedence graph of the operations that prove a
conflict (see `precedence`), and each of its edges becomes one step, which names its reason.
What an edge follows from is told before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from checkers.narrator import Narrator
from checkers.records import WRITES, Op, Outcome

if TYPE_CHECKING:
    from checkers.precedence import Edge, Node

_TO_BEGIN_WITH = {"INITIAL", "LOG_ORDER", "REAL_TIME", "REJECTED_BECAUSE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A write that was refused, and what can have been the reason."""

    rejected: Op
    cause: Op
    reached: int  # the highest token that cannot have been it, though it would do


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which order is asked for."""

    proof: tuple[Op, ...]  # of one resource
    fenced: bool  # must tokens rise?
    log: tuple[Op, ...] | None = None  # what is known of the storage's own order
    refusal: Refusal | None = None


def circle(n: Narrator, question: Question, moral: str) -> tuple[str, ...]:
    """The steps of the shortest circle, and that it cannot be.

    Raises:
        LookupError: these operations can be put in an order.
    """
    edges = _shortest(n, question)
    if not edges:
        raise LookupError("the operations of this proof can be put in an order")
    teller = _Teller(n, question)
    told = {(edge.before, edge.after): edge for each in edges for edge in _with_premises(each)}
    one, other = teller.name(edges[0].before), teller.name(edges[-1].before)
    return (
        *(teller.step(edge) for edge in told.values()),
        f"So {one} would have to come both before and after {other}. That cannot be: {moral}.",
    )


def _shortest(n: Narrator, question: Question) -> tuple[Edge, ...]:
    from checkers.reference import (
        Storage,
    )  # networkx takes its time to load: only who is told something waits

    storage = Storage(
        operations=[_as_effective(n, op, question) for op in question.proof],
        header=n.history.header,
        fenced=question.fenced,
        log=None if question.log is None else [_as_effective(n, op, question) for op in question.log],
    )
    refusal = question.refusal
    order = storage.order({} if refusal is None else {refusal.rejected.index: refusal.cause.index})
    order.saturate()
    return _turned(order.shortest_cycle(), question.proof)


def _as_effective(n: Narrator, op: Op, question: Question) -> Op:
    """A write that took effect whatever its client was told: it is not known by when."""
    is_refusal = question.refusal is not None and question.refusal.rejected == op
    if op.f not in WRITES or op.outcome is Outcome.OK or is_refusal:
        return op
    return replace(op, outcome=Outcome.OK if n.numbers(op) else Outcome.INFO, returned=None)


def _turned(edges: tuple[Edge, ...], proof: Sequence[Op]) -> tuple[Edge, ...]:
    """The circle from what was there first: what real time says comes first, the earliest before all."""
    if not edges:
        return edges
    called = {op.index: op.called for op in proof}

    def by_time(place: int) -> tuple[bool, float]:
        edge = edges[place]
        return edge.reason.name not in _TO_BEGIN_WITH, called.get(edge.before, -1)  # type: ignore[arg-type]

    start = min(range(len(edges)), key=by_time)
    return (*edges[start:], *edges[:start])


def _with_premises(edge: Edge) -> Iterator[Edge]:
    """What an edge follows from, then the edge; that the run began with something goes without saying."""
    for premise in edge.premise:
        if premise.reason.name != "INITIAL":
            yield from _with_premises(premise)
    yield edge


class _Teller:
    """Words for the edges between some operations."""

    def __init__(self, n: Narrator, question: Question) -> None:
        self._n = n
        self._by_index = {op.index: op for op in question.proof}
        self._question = question
        self._steps: dict[str, Callable[[Edge], str]] = {
            "INITIAL": self._initial,
            "LOG_ORDER": self._log_order,
            "READ_FROM": self._read_from,
            "REAL_TIME": self._real_time,
            "REJECTED_BECAUSE": self._rejected_because,
            "REPLACED": self._replaced,
            "TOKEN_ORDER": self._token_order,
            "WRITTEN_LATER": self._written_later,
        }

    def step(self, edge: Edge) -> str:
        """Why one came before the other."""
        return self._steps[edge.reason.name](edge)

    def name(self, node: Node) -> str:
        """What an operation is called within a sentence."""
        op = self._op(node)
        return self._value(node) if op is None else self._n.name(op)

    def _op(self, node: Node) -> Op | None:
        return self._by_index[node] if isinstance(node, int) else None

    def _both(self, edge: Edge) -> str:
        return f"{self.name(edge.before)} came before {self.name(edge.after)}"

    def _ends(self, edge: Edge) -> tuple[Op, Op]:
        """Both operations of an edge that does not begin before the run."""
        return self._by_index[cast("int", edge.before)], self._by_index[cast("int", edge.after)]

    def _real_time(self, edge: Edge) -> str:
        n, (before, after) = self._n, self._ends(edge)
        again = "" if n.whom(before) != n.whom(after) else "the same "
        return (
            f"By real time, {self._both(edge)}: {n.ended(before)}, and only after that did"
            f" {again}{n.whom(after)} {n.send(after)}, {n.sent(after)}."
        )

    def _token_order(self, edge: Edge) -> str:
        n, before, after = self._n, self._by_index[cast("int", edge.before)], self._op(edge.after)
        mark = n.history.header.initial_token if after is None else after.token
        met = "stands at" if after is None else "was raised to" if after.f == "fence" else "has accepted"
        strict = "strict " if before.token == mark else ""
        return (
            f"By token order, {self._both(edge)}: it {self._took_effect(before)} with token {before.token},"
            f" and a {strict}fence that {met} token {mark} refuses token {before.token} from then on."
        )

    def _took_effect(self, write: Op) -> str:
        """How it is known that a write was accepted."""
        if write.outcome is Outcome.OK:
            return f"was accepted {self._n.answered(write)}"
        if self._n.numbers(write):
            return f"was accepted, as {self._n.place(write)} in the storage's own order,"
        reads = (op for op in self._question.proof if op.f == "read" and op.value == write.value)
        read = min(reads, key=lambda op: op.returned or 0, default=None)
        if read is None:
            return "was accepted"
        return f"was accepted, since {self._n.whom(read)} read {write.value!r} {self._n.answered(read)},"

    def _read_from(self, edge: Edge) -> str:
        _, read = self._ends(edge)
        return (
            f"By what was read, {self._both(edge)}: {self._n.whom(read)} was given {read.value!r}"
            f" {self._n.answered(read)}, so it had been written by then."
        )

    def _replaced(self, edge: Edge) -> str:
        op = self._op(edge.before)
        verb = "returned" if op is not None and op.f == "read" else "put there"
        return (
            f"So {self._both(edge)}, too: it {verb} {self._value(edge.before)}, which was gone once"
            f" {self._value(edge.after)} had replaced it."
        )

    def _written_later(self, edge: Edge) -> str:
        seen_by = self.name(edge.premise[-1].after)
        return (
            f"So {self._both(edge)}, too: {seen_by} still saw {self._value(edge.after)} after it, and what"
            " was replaced does not come back, because each value is written once."
        )

    def _value(self, node: Node) -> str:
        op = self._op(node)
        return "what stood there before the run" if op is None else repr(op.value)

    def _log_order(self, edge: Edge) -> str:
        before, after = self._ends(edge)
        return (
            f"By the storage's own order, {self._both(edge)}:"
            f" {before.value!r} is {self._n.place(before, first=True)} in it and {after.value!r} is"
            f" {self._n.place(after)}."
        )

    def _rejected_because(self, edge: Edge) -> str:
        n, refusal = self._n, self._question.refusal
        if refusal is None:
            raise ValueError("an edge of a rejection, and no rejection in question")
        rejected, cause, least = refusal.rejected, refusal.cause, n.least_above(refusal.rejected)
        others = ""
        if refusal.reached >= least:
            others = f"; none up to {refusal.reached} can have been, so it was a higher one"
        return (
            f"By what was refused, {self._both(edge)}: if token {rejected.token} was stale"
            f" {n.answered(rejected)}, a token of {least} or more had been accepted by then{others}, such"
            f" as {cause.token}, sent {n.sent(cause)}."
        )

    def _initial(self, edge: Edge) -> str:
        token = self._n.history.header.initial_token
        return (
            f"The storage stood at token {token} before the run (line 1), so that came before"
            f" {self.name(edge.after)}."
        )
