"""Contradictions as cycles: each operation must have come before the next, and the last before the first.

The cycle is the shortest one in the precedence graph of the operations that prove a conflict (see
`precedence`). Each of its edges becomes one step that names its reason, after the edges that it follows from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from checkers.explain.edges import EdgeWords, Refusal
from checkers.explain.effects import shown_by
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, step
from checkers.history.records import WRITES, Header, Op, Outcome

if TYPE_CHECKING:  # networkx is slow to load: only explanations need it
    from checkers.reference.precedence import Edge, Node, Timed

_TO_BEGIN_WITH = {"INITIAL", "LOG_ORDER", "REAL_TIME", "REJECTED_BECAUSE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about the order of a storage's operations."""

    proof: tuple[Op, ...]  # of one resource
    fenced: bool  # must tokens rise?
    timed: bool = True  # do their times matter?
    log: tuple[Op, ...] | None = None  # the storage's own order, if that matters
    refusal: Refusal | None = None
    accused: Op | None = None  # the cycle ends here, if one goes through it


def cycle(n: Narrator, question: Question, moral: str) -> tuple[Step, ...]:
    """Return the steps that show that a storage's operations have no order.

    Raises:
        LookupError: they have one.
    """
    places = {op: place for place, op in enumerate(question.proof)}
    refusal = question.refusal
    accused = None if question.accused is None else places.get(question.accused)
    edges = _shortest(
        tuple(_only_what_matters(n, question)),
        strict=n.history.header.policy == "strict",
        fenced=question.fenced,
        log=None if question.log is None else tuple(places[op] for op in question.log),
        cause=None if refusal is None else (places[refusal.rejected], places[refusal.cause]),
        through=accused,
    )
    return around(edges, question.proof, EdgeWords(n, question.proof, refusal).step, moral, accused)


def cycle_of_grants(n: Narrator, earlier: Op, later: Op, moral: str) -> tuple[Step, ...]:
    """Return the steps that show that two grants have no order in time in which tokens rise.

    Raises:
        LookupError: they have one.
    """
    from checkers.reference.precedence import Precedence, Why

    order = Precedence({})
    if (earlier.returned or 0) < later.sent:
        order.add(0, Why.REAL_TIME, 1)
    if (later.token or 0) <= (earlier.token or 0):
        order.add(1, Why.TOKEN_ORDER, 0)
    grants = (earlier, later)
    return around(order.shortest_cycle(), grants, EdgeWords(n, grants).step, moral)


def _only_what_matters(n: Narrator, question: Question) -> Iterator[Op]:
    """Yield the operations, named by position, with times, tokens and values replaced by their ranks.

    The token and the value from before the run come first.
    """
    operations = [_as_stored(n, _as_effective(n, op, question), question) for op in question.proof]
    header = n.history.header
    times = (moment for op in operations for moment in (op.called, op.returned))
    moments = sorted({moment for moment in times if moment is not None})
    tokens = sorted({header.initial_token, *(op.token for op in operations if op.token is not None)})
    values = list(dict.fromkeys([header.initial_value, *(op.value for op in operations)]))
    yield Op(index=-1, process=0, f="", resource="", called=0, token=tokens.index(header.initial_token))
    for place, op in enumerate(operations):
        yield Op(
            index=place,
            process=0,
            f=op.f,
            resource="",
            called=moments.index(op.called),
            returned=None if op.returned is None else moments.index(op.returned),
            outcome=op.outcome,
            token=None if op.token is None else tokens.index(op.token),
            value=values.index(op.value),
            error=op.error,
        )


def _as_effective(n: Narrator, op: Op, question: Question) -> Op:
    """Return a write as the cycle needs it: without its client's answer, it has no latest time."""
    is_refusal = question.refusal is not None and question.refusal.rejected == op
    if op.f not in WRITES or op.outcome is Outcome.OK or is_refusal:
        return op if question.timed else replace(op, returned=None)
    return replace(op, outcome=Outcome.OK if n.numbers(op) else Outcome.INFO, returned=None)


def _as_stored(n: Narrator, op: Op, question: Question) -> Op:
    """Return an append that a list proves: it took effect before that list was read."""
    by = next((each for each in shown_by(n, op) if each in question.proof), None)
    if by is None or n.numbers(op):
        return op
    return replace(op, outcome=Outcome.OK, returned=by.returned if question.timed else None)


@lru_cache(maxsize=1 << 12)  # most of thousands of findings share their shape
def _shortest(
    operations: tuple[Op, ...],
    *,
    strict: bool,
    fenced: bool,
    log: tuple[int, ...] | None,
    cause: tuple[int, int] | None,
    through: int | None,
) -> tuple[Edge, ...]:
    """Return the shortest cycle, its operations named by position."""
    from checkers.reference.storages import StorageOfOne

    before, *rest = operations
    policy: Literal["strict", "inclusive"] = "strict" if strict else "inclusive"
    storage = StorageOfOne(
        operations=rest,
        header=Header(target="", policy=policy, initial_value=0, initial_token=before.token or 0),
        fenced=fenced,
        log=None if log is None else [rest[place] for place in log],
    )
    order = storage.order({} if cause is None else dict([cause]))
    order.saturate()
    return order.shortest_cycle(through)


def around(
    edges: tuple[Edge, ...],
    operations: Sequence[Timed],
    word: Callable[[Edge], Step],
    moral: str,
    accused: Node | None = None,
) -> tuple[Step, ...]:
    """Return the steps of a cycle, each in words, of which the last is about the accused, and the conclusion.

    Raises:
        LookupError: there is no cycle.
    """
    edges = _turned(edges, operations, accused)
    steps = {(edge.before, edge.after): edge for each in edges for edge in _with_premises(each)}
    return (*map(word, steps.values()), step(f"So {moral}."))


def _turned(edges: tuple[Edge, ...], operations: Sequence[Timed], accused: Node | None) -> tuple[Edge, ...]:
    """Rotate the cycle so that the accused comes last.

    Without an accused, it begins with the most obvious edge: the earliest that real time or the storage
    itself shows.
    """
    if not edges:
        raise LookupError("the operations of this proof can be put in an order")

    def by_time(place: int) -> tuple[bool, float]:
        edge = edges[place]
        began = operations[edge.before].called if isinstance(edge.before, int) else -1
        return edge.reason.name not in _TO_BEGIN_WITH, began

    ends = [place for place, edge in enumerate(edges) if edge.before == accused]
    start = ends[0] + 1 if ends else min(range(len(edges)), key=by_time)
    return (*edges[start:], *edges[:start])


def _with_premises(edge: Edge) -> Iterator[Edge]:
    """Yield the premises of an edge, then the edge; that the run began with a value needs no saying."""
    for premise in edge.premise:
        if premise.reason.name != "INITIAL":
            yield from _with_premises(premise)
    yield edge
