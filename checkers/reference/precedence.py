"""Precedence graphs: which operations must come before which others, and why; a cycle is a contradiction.

A history is right iff its operations can be put one after another such that each answer is the one that the
object would have given. Each fact about them says that one operation comes before another, and an order
exists iff these facts have no cycle. A cycle is its own explanation: followed once around, it says that an
operation comes before itself.

Most facts are seen directly, such as that one operation had returned before the other was called. The rest
follow from *blocks*: operations with nothing of another block in between, such as a value's write and the
reads that returned it, or the acquire and the release of one hold. If something of block u comes before
something of block v, then all of u comes before v begins. `saturate` adds such consequences until nothing is
new. Each of these edges remembers its premise.

If the saturated graph has no cycle, neither has the graph in which each block is one node, so the blocks can
be put in order: nothing else has to be chosen. With a cycle, no order exists.

This is the slow and plain form of the definitions, for small histories: the fast
checkers are tested against it, and explanations are taken from it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Final, Protocol, TypeAlias

import networkx as nx


class InitialType(enum.Enum):
    """The type of `INITIAL`."""

    INITIAL = "initial"


INITIAL: Final = InitialType.INITIAL
"""The node of the state before the run, as a write before everything."""

Node: TypeAlias = int | InitialType
"""An operation, by its index or its position in the history; or `INITIAL`."""


class Why(enum.Enum):
    """The reason why one operation comes before another, in words about *the one* and *the other*."""

    REAL_TIME = "the one had returned before the other was called"
    TOKEN_ORDER = "a fence accepts a lower token before a higher one"  # noqa: S105 - no password
    READ_FROM = "a value is seen after it was written"
    REJECTED_BECAUSE = "a rejection comes after what raised the mark"
    LOG_ORDER = "they stand in this order in the storage's own log"
    INITIAL = "what was there before the run comes first"
    HELD = "a lock is released after it was acquired"
    NEVER_RELEASED = "who never released the lock was the last to hold it"
    # consequences of a premise
    REPLACED = "a value is not seen any more once another has replaced it"
    WRITTEN_LATER = "a value that was seen later was written later, or it would have been replaced"
    ONE_HOLDER = "a lock is released before another has it"


_DETOURS = (Why.WRITTEN_LATER, Why.ONE_HOLDER)
"""Reasons that take two steps to understand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A fact: one operation comes before another."""

    before: Node
    reason: Why
    after: Node
    premise: tuple[Edge, ...] = ()  # the path that it follows from; empty if it was seen directly

    @property
    def cost(self) -> int:
        """The number of steps needed to understand it, with the steps of its premise."""
        return (2 if self.reason in _DETOURS else 1) + sum(edge.cost for edge in self.premise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Operations with nothing of another block in between.

    Blocks may overlap, as in a chain of compare-and-sets; only of disjoint blocks does
    one have to be over before the other begins.
    """

    first: Node  # edges of the graph put it before all other members
    members: tuple[Node, ...]  # `first` is one of them
    over: Why = Why.REPLACED  # why all members come before another block that some member precedes
    begun: Why = Why.WRITTEN_LATER  # why what precedes some member precedes the first


class Timed(Protocol):
    """Anything with an interval: `Op`, `Operation`."""

    @property
    def called(self) -> int:
        """The time at which it began."""
        ...

    @property
    def returned(self) -> int | None:
        """The time at which it was over; None if that was never seen."""
        ...


class Precedence:
    """Operations as nodes of a `networkx.DiGraph`; each of its edges carries its `Edge` as "edge"."""

    def __init__(self, operations: Mapping[int, Timed]) -> None:
        self.graph: nx.DiGraph[Node] = nx.DiGraph()
        self.blocks: list[Block] = []
        self.graph.add_nodes_from(operations)
        for (one, first), (other, second) in permutations(operations.items(), 2):
            if first.returned is not None and first.returned < second.called:
                self.add(one, Why.REAL_TIME, other)

    def add(self, before: Node, reason: Why, after: Node, premise: tuple[Edge, ...] = ()) -> None:
        """Put one operation before another; of several reasons, keep the first that is easiest to see."""
        edge = Edge(before=before, reason=reason, after=after, premise=premise)
        if self.graph.has_edge(before, after) and self.edge(before, after).cost <= edge.cost:
            return
        self.graph.add_edge(before, after, edge=edge, cost=edge.cost)

    def edge(self, before: Node, after: Node) -> Edge:
        """Return the edge between two adjacent nodes."""
        found: Edge = self.graph.edges[before, after]["edge"]
        return found

    def put_first(self, node: Node) -> None:
        """Put the initial state before everything."""
        for other in list(self.graph):
            if other != node:
                self.add(node, Why.INITIAL, other)

    def is_acyclic(self) -> bool:
        """Can the operations be ordered, as far as the edges say?"""
        return nx.is_directed_acyclic_graph(self.graph)

    def saturate(self) -> bool:
        """Add the consequences of the blocks until nothing is new, or until there is a cycle.

        Returns:
            Whether the operations can be ordered.
        """
        while self.is_acyclic():
            forced = list(self._forced())
            if not forced:
                return True
            for edge in forced:
                self.add(edge.before, edge.reason, edge.after, edge.premise)
        return False

    def shortest_cycle(self, through: Node | None = None) -> tuple[Edge, ...]:
        """Return the cycle that is easiest to follow, as edges that each begin where the previous one ends.

        It is empty if there is none. A cycle through the node `through` is preferred.
        """
        cycles = [
            (self.edge(before, after), *self._path(after, before))
            for before, after in self.graph.edges
            if nx.has_path(self.graph, after, before)
        ]
        asked_for = [cycle for cycle in cycles if cycle[0].before == through]
        found = asked_for or cycles
        return min(found, key=lambda cycle: (sum(edge.cost for edge in cycle), len(cycle)), default=())

    def _forced(self) -> Iterator[Edge]:
        """Yield the consequences of the present edges that they do not already imply."""
        reached = {node: nx.descendants(self.graph, node) for node in self.graph}
        for one, other in permutations(self.blocks, 2):
            if not set(one.members).isdisjoint(other.members):
                continue
            for node in one.members:
                if other.first in reached[node]:
                    unsaid = (each for each in one.members if other.first not in reached[each])
                    for each in unsaid:
                        yield self._following(each, one.over, other.first, node, other.first)
                else:
                    for later in (each for each in other.members if each in reached[node]):
                        yield self._following(node, other.begun, other.first, node, later)

    def _following(self, before: Node, reason: Why, after: Node, source: Node, target: Node) -> Edge:
        return Edge(before=before, reason=reason, after=after, premise=self._path(source, target))

    def _path(self, source: Node, target: Node) -> tuple[Edge, ...]:
        nodes: Iterable[Node] = nx.dijkstra_path(self.graph, source, target, weight="cost")
        return tuple(self.edge(before, after) for before, after in pairwise(nodes))
