"""What one fault has, no other takes: clients, edges and servers."""

from __future__ import annotations

import pytest

from harness.nemesis.claims import Claims
from harness.network.topology import Edge


class Client:
    taken = 0


class State:
    def __init__(self):
        self.clients = [Client(), Client()]


@pytest.fixture
def claims():
    return Claims(State())


def test_a_client_has_one_fault_at_a_time(claims):
    assert claims.take(0)

    assert not claims.take(0)
    assert claims.take(1)
    assert [client.taken for client in claims.state.clients] == [1, 1]


def test_a_fault_on_a_server_waits_for_one_on_the_way_to_it(claims):
    cut, both = {Edge(0, "redis-1")}, {"redis-1", Edge(0, "redis-1"), Edge(1, "redis-1")}
    assert claims.take(0, cut)

    assert not claims.take(None, both)
    with claims.released_in_the_end(0, cut):
        pass
    assert claims.take(None, both)


def test_who_gets_not_everything_gets_nothing(claims):
    assert claims.take(None, {"redis-1"})

    assert not claims.take(1, {"redis-1", "redis-2"})
    assert claims.take(1, {"redis-2"})


def test_what_was_taken_is_free_again_also_after_an_error(claims):
    assert claims.take(0, {"redis-1"})

    with pytest.raises(ZeroDivisionError), claims.released_in_the_end(0, {"redis-1"}):
        raise ZeroDivisionError

    assert claims.state.clients[0].taken == 0
    assert claims.take(0, {"redis-1"})
