"""What a fault hits, and the clients, edges, servers and sides that it reserves."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import TypeAdapter

from harness.core.errors import ConfigurationError
from harness.nemesis.clock import ClockSpec
from harness.nemesis.faults import FaultSpec, sides_hit
from harness.nemesis.kill import KillSpec
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.pause import PauseSpec
from harness.nemesis.reach import FaultReach, recorded_target, servers_hit
from harness.nemesis.reservations import Reservations
from harness.network.topology import Address, NetworkEdge, Server
from harness.spec.reading import load_text


class Client:
    taken = 0


class State:
    def __init__(self) -> None:
        self.clients = [Client(), Client()]


@pytest.fixture
def reservations() -> Any:
    return Reservations(State())


def test_a_client_has_one_fault_at_a_time(reservations: Any) -> None:
    assert reservations.reserve("pause holder", 0)

    assert not reservations.reserve("pause holder", 0)
    assert reservations.reserve("pause holder", 1)
    assert [client.taken for client in reservations.state.clients] == [1, 1]


def test_a_fault_on_a_server_waits_for_one_on_an_edge_to_it(reservations: Any) -> None:
    cut, both = {NetworkEdge(0, "redis-1")}, {"redis-1", NetworkEdge(0, "redis-1"), NetworkEdge(1, "redis-1")}
    assert reservations.reserve("pause holder", 0, cut)

    assert not reservations.reserve("pause holder", None, both)
    with reservations.released_at_end(0, cut):
        pass
    assert reservations.reserve("pause holder", None, both)


def test_a_reservation_is_all_or_nothing(reservations: Any) -> None:
    assert reservations.reserve("pause holder", None, {"redis-1"})

    assert not reservations.reserve("pause holder", 1, {"redis-1", "redis-2"})
    assert reservations.reserve("pause holder", 1, {"redis-2"})


def test_a_reservation_is_released_after_an_error(reservations: Any) -> None:
    assert reservations.reserve("pause holder", 0, {"redis-1"})

    with pytest.raises(ZeroDivisionError), reservations.released_at_end(0, {"redis-1"}):
        raise ZeroDivisionError

    assert reservations.state.clients[0].taken == 0
    assert reservations.reserve("pause holder", 0, {"redis-1"})


def test_the_fault_that_is_in_the_way_has_a_name(reservations: Any) -> None:
    reservations.reserve("kill lock:leader", None, {"redis-1"})
    reservations.reserve("pause client:1", 1)

    assert reservations.in_the_way(0) is None
    assert reservations.in_the_way(0, {"redis-1", "redis-2"}) == "kill lock:leader"
    assert reservations.in_the_way(1, {"redis-2"}) == "pause client:1"
    with reservations.released_at_end(1, {"redis-1"}):
        pass
    assert reservations.in_the_way(1, {"redis-1"}) is None


NEEDS = ("redis-1", "redis-2", NetworkEdge(0, "redis-1"), NetworkEdge(1, "redis-1"))
FAULT = st.tuples(st.sampled_from([None, 0, 1]), st.frozensets(st.sampled_from(NEEDS), max_size=2))


class Faults(RuleBasedStateMachine):
    """Faults that begin and end in any order; the model is the list of ongoing ones."""

    def __init__(self) -> None:
        super().__init__()
        self.reservations = Reservations(State())
        self.ongoing: list[Any] = []

    @rule(fault=FAULT)
    def begin(self, fault: tuple[int | None, frozenset[str | NetworkEdge]]) -> None:
        client, needs = fault
        fits = all(
            (client is None or client != other) and not needs & taken for other, taken, _ in self.ongoing
        )

        assert self.reservations.reserve("pause holder", client, needs) == fits

        if fits:
            block = self.reservations.released_at_end(client, needs)
            block.__enter__()
            self.ongoing.append((client, needs, block))

    @precondition(lambda self: self.ongoing)
    @rule(data=st.data(), error=st.sampled_from([None, ZeroDivisionError()]))
    def end(self, data: st.DataObject, error: Exception | None) -> None:
        _, _, block = self.ongoing.pop(data.draw(st.integers(0, len(self.ongoing) - 1)))

        assert not block.__exit__(error and type(error), error, None)

    @invariant()
    def exactly_what_ongoing_faults_need_is_reserved(self) -> None:
        clients = {client for client, _, _ in self.ongoing if client is not None}
        assert self.reservations.clients.keys() == clients
        assert [bool(each.taken) for each in self.reservations.state.clients] == [
            number in clients for number in range(2)
        ]
        assert self.reservations.taken.keys() == {need for _, needs, _ in self.ongoing for need in needs}


def test_no_two_ongoing_faults_share_a_client_a_server_or_an_edge() -> None:
    few = settings(max_examples=50, stateful_step_count=20, derandomize=True, database=None, deadline=None)

    run_state_machine_as_test(Faults, settings=few)


SIDES = {"lock": ("redis-1", "redis-2"), "storage": ("postgres",)}
NO_GALERA: Any = SimpleNamespace(servers=())
REACH = FaultReach(cluster=NO_GALERA, sides=SIDES, processes=(None, None))


def kill(target: Any) -> KillSpec:
    return KillSpec(kind="kill", target=target, every="8s", lasts="1s")


def partition(side: str | tuple[str, ...]) -> PartitionSpec:
    words = {"kind": "partition", "target": "client:0", "from": side, "every": "8s", "lasts": "1s"}
    return PartitionSpec.model_validate(words)


@pytest.mark.parametrize(
    ("fault", "servers"),
    [
        (kill("lock"), ("redis-1", "redis-2")),
        (kill("storage"), ("postgres",)),
        (kill("redis-2"), ("redis-2",)),
        (partition("both"), ("redis-1", "redis-2", "postgres")),
        (partition("storage"), ("postgres",)),
        (partition(("redis-2", "postgres")), ("redis-2", "postgres")),
        (PauseSpec(kind="pause", target="holder", every="3s", lasts="1s"), ()),
    ],
)
def test_a_fault_hits_the_servers_that_it_names(fault: Any, servers: Any) -> None:
    assert servers_hit(fault.aim(), SIDES) == servers


def test_the_history_names_the_side_of_a_server() -> None:
    assert recorded_target("lock", SIDES) == "lock"
    assert recorded_target("redis-2", SIDES) == "lock:redis-2"
    assert recorded_target("postgres", SIDES) == "storage:postgres"


def test_each_fault_reserves_its_servers_and_edges() -> None:
    clock = ClockSpec(kind="clock", target="redis-2", jump="1h", every="8s", lasts="1s")

    assert kill("redis-2").needs(REACH) == {"redis-2", NetworkEdge(0, "redis-2"), NetworkEdge(1, "redis-2")}
    assert partition(("redis-2",)).needs(REACH, 0) == {NetworkEdge(0, "redis-2")}
    assert clock.needs(REACH) == {"redis-2"}


def test_a_kill_of_one_node_of_galera_reserves_all_nodes() -> None:
    names, nowhere = ("galera-1", "galera-2", "galera-3"), Address("127.0.0.1", 1)
    nodes = [
        Server(name=name, system="mariadb", address=nowhere, upstream=nowhere, cluster="storage")
        for name in names
    ]
    cluster: Any = SimpleNamespace(servers=nodes)
    reach = FaultReach(cluster=cluster, sides={"storage": names}, processes=())

    assert kill("galera-2").needs(reach) == set(names)


RESERVED = {"lock": ("etcd-1", "etcd-2", "etcd-3"), "storage": ("postgres",)}
EVERY = {"every": "8s", "lasts": "1s"}


@pytest.mark.parametrize(
    ("fault", "hit"),
    [
        ({"kind": "pause", "target": "holder", "at": "acquired", "lasts": "1s"}, {"clients"}),
        ({"kind": "pause", "target": "lock:leader", **EVERY}, {"lock"}),
        ({"kind": "kill", "target": "postgres", **EVERY}, {"storage"}),
        ({"kind": "partition", "target": "etcd-2", **EVERY}, {"lock"}),
        ({"kind": "partition", "target": "etcd-2", "with": "holder", **EVERY}, {"clients", "lock"}),
        ({"kind": "partition", "target": "holder", "from": "lock", **EVERY}, {"clients", "lock"}),
        ({"kind": "delay", "target": "holder", "to": "both", **EVERY}, {"clients", "lock", "storage"}),
    ],
)
def test_a_fault_hits_the_clients_or_the_sides_of_its_servers(fault: Any, hit: set[str]) -> None:
    spec = TypeAdapter(FaultSpec).validate_python(fault)

    assert sides_hit(spec, RESERVED) == {f"side:{side}" for side in hit}


TARGET = """
name = "t"
expect = "valid"
overlap = false
[lock]
kind = "etcd"
[storage]
kind = "postgres"
fencing = "upsert"
[[faults]]
kind = "kill"
target = "holder"
at = "acquired"
[[faults]]
"""


def test_nothing_on_clients_can_follow_the_kill_of_one() -> None:
    pause = 'kind = "pause"\ntarget = "client:0"\nat = "acquired"\nlasts = "1s"'

    with pytest.raises(ConfigurationError, match="overlap = false: leaves no time"):
        load_text(TARGET + pause, "t.toml")


def test_servers_may_be_hit_while_a_client_is_dead() -> None:
    kill = 'kind = "kill"\ntarget = "storage"\nevery = "8s"\nlasts = "1s"'

    assert not load_text(TARGET + kill, "t.toml").overlap
