"""The precedence graph: what follows from what, and which cycle is reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx
import pytest

from checkers.history.records import Header
from checkers.reference.precedence import INITIAL, Block, Precedence, Why
from checkers.reference.storages import StorageOfOne
from tests.oracles.storages import possible_causes, rejected_by
from tests.support.brute_force import read, write


@dataclass(frozen=True)
class Interval:
    called: int
    returned: int | None


def graph(*intervals: tuple[Any, ...]) -> Precedence:
    return Precedence({place: Interval(*interval) for place, interval in enumerate(intervals)})


def block(*members: int) -> Block:
    return Block(first=members[0], members=members)


def reasons_of(edges: list[Any]) -> list[tuple[Any, Any, Any]]:
    return [(edge.before, edge.reason, edge.after) for edge in edges]


def test_an_operation_that_returned_before_a_call_comes_first() -> None:
    order = graph((0, 1), (2, 3))

    assert reasons_of([order.edge(0, 1)]) == [(0, Why.REAL_TIME, 1)]
    assert not order.graph.has_edge(1, 0)


def test_overlapping_operations_are_not_ordered() -> None:
    assert not graph((0, 2), (2, 3), (0, None)).graph.edges


def test_the_initial_value_comes_before_everything() -> None:
    order = graph((0, 1), (0, 1))

    order.put_first(INITIAL)

    assert reasons_of([order.edge(INITIAL, 0), order.edge(INITIAL, 1)]) == [
        (INITIAL, Why.INITIAL, 0),
        (INITIAL, Why.INITIAL, 1),
    ]


def test_a_reason_that_is_easier_to_see_takes_the_place_of_another() -> None:
    order = graph((0, 9), (0, 9), (0, 9))
    order.add(0, Why.READ_FROM, 1)
    premise = (order.edge(0, 1),)

    order.add(1, Why.REPLACED, 2, premise)
    order.add(1, Why.TOKEN_ORDER, 2)
    order.add(1, Why.LOG_ORDER, 2)

    assert order.edge(1, 2).reason is Why.TOKEN_ORDER


def test_a_value_is_not_read_any_more_after_the_next_was_written() -> None:
    order = graph((0, 1), (2, 3), (0, 9))
    order.add(0, Why.READ_FROM, 2)
    order.blocks = [block(0, 2), block(1)]

    assert order.saturate()

    follows = order.edge(2, 1)
    assert follows.reason is Why.REPLACED
    assert reasons_of(follows.premise) == [(0, Why.REAL_TIME, 1)]


def test_a_value_that_was_read_later_was_written_later() -> None:
    order = graph((0, 1), (0, 9), (2, 3))
    order.add(1, Why.READ_FROM, 2)
    order.blocks = [block(0), block(1, 2)]

    assert order.saturate()

    follows = order.edge(0, 1)
    assert follows.reason is Why.WRITTEN_LATER
    assert reasons_of(follows.premise) == [(0, Why.REAL_TIME, 2)]


def test_blocks_that_share_an_operation_do_not_exclude_each_other() -> None:
    order = graph((0, 1), (2, 3), (4, 5))
    order.add(0, Why.READ_FROM, 1)
    order.add(1, Why.READ_FROM, 2)
    order.blocks = [block(0, 1), block(1, 2)]

    assert order.saturate()


def test_a_contradiction_is_a_cycle_whose_edges_follow_each_other() -> None:
    order = graph((0, 1), (2, 3), (4, 5))
    order.add(0, Why.READ_FROM, 2)
    order.blocks = [block(0, 2), block(1)]

    assert not order.saturate()

    cycle = order.shortest_cycle()
    assert reasons_of(cycle) == [(1, Why.REAL_TIME, 2), (2, Why.REPLACED, 1)]
    assert reasons_of(cycle[1].premise) == [(0, Why.REAL_TIME, 1)]


def test_without_a_contradiction_there_is_no_cycle() -> None:
    order = graph((0, 1), (2, 3))

    assert order.is_acyclic()
    assert order.shortest_cycle() == ()


def test_the_cycle_with_the_fewest_steps_is_reported() -> None:
    order = graph((0, 1), (2, 3), (4, 5))
    order.add(2, Why.TOKEN_ORDER, 0)
    order.add(2, Why.TOKEN_ORDER, 1)

    assert len(order.shortest_cycle()) == 2


def test_every_edge_of_the_networkx_graph_carries_its_reason() -> None:
    order = graph((0, 1), (2, 3))

    assert isinstance(order.graph, nx.DiGraph)
    assert [data["edge"].reason for _, _, data in order.graph.edges(data=True)] == [Why.REAL_TIME]


@pytest.fixture
def storage() -> Any:
    """Of a strict fence: tokens 1 and 3 accepted, 2 rejected between them, and called after 3 was called."""
    return StorageOfOne(
        operations=(
            write(0, 1, 0, 1),
            write(1, 3, 2, 9),
            write(2, 2, 3, 4, "stale"),
            read(3, ("v0", 1), 5, 6),
        ),
        header=Header(target="test"),
        fenced=True,
    )


def test_a_higher_token_can_cause_a_rejection(storage: Any) -> None:
    (rejected,) = rejected_by(storage)

    assert list(possible_causes(storage, rejected)) == [1]


def test_a_cause_comes_before_its_rejection(storage: Any) -> None:
    order = storage.order({2: 1})

    assert not order.saturate()
    assert reasons_of(order.shortest_cycle()) == [
        (1, Why.REJECTED_BECAUSE, 2),
        (2, Why.REAL_TIME, 3),
        (3, Why.REPLACED, 1),
    ]


def test_without_its_cause_a_rejection_orders_nothing(storage: Any) -> None:
    assert storage.order({}).saturate()
