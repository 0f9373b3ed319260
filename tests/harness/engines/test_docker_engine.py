"""The Docker engine with real containers: start, failures and cleanup."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from docker.errors import APIError

from harness.core.errors import EngineUnavailableError, ServerNotReadyError
from harness.engines import cleanup
from harness.engines.docker_containers import UNFROZEN, containers_of
from harness.engines.engine import Cluster, Engine
from harness.files import logs
from harness.network.postgres_server import LOGIN as POSTGRES_LOGIN
from harness.network.probe import reply
from harness.network.topology import ServerSpec, Topology
from harness.processes import ownership, run_notes
from tests.support.held import running_harness, wait_for_line, wait_until
from tests.support.systems import postgres_from
from tests.support.waiting import wait_for

Start = Callable[[Topology], AbstractContextManager[Cluster]]


@pytest.fixture
def start(docker_engine: Engine, run_id: str, tmp_path: Path) -> Start:
    return lambda topology: docker_engine.start(topology, run_id, tmp_path, print)


@pytest.mark.slow
def test_every_edge_leads_to_its_server(start: Start, make_topology: Callable[..., Topology]) -> None:
    topology = make_topology(etcd=3, clients=2)
    with start(topology) as cluster:
        answers = [
            reply(cluster.edge(number, server.name), server.system, within=2)
            for number in range(2)
            for server in cluster.servers
        ]
        edges = {cluster.edge(number, server.name) for number in range(2) for server in cluster.servers}

    assert None not in answers
    assert len(edges) == len(answers)


@pytest.mark.slow
def test_postgresql_speaks_utf8(docker_cluster: Cluster) -> None:
    address = docker_cluster.servers[-1].address
    with psycopg.connect(f"host={address.host} port={address.port} {POSTGRES_LOGIN}") as connection:
        row = connection.execute("SELECT 'ü', current_database(), current_setting('fsync')").fetchone()

    assert row == ("ü", "fencepost", "on")


def test_the_environment_has_the_versions_of_the_servers(docker_cluster: Cluster) -> None:
    seen = docker_cluster.environment()

    assert seen["servers"]["etcd-1"]["version"].startswith("3.5")
    assert seen["servers"]["postgres"]["version"].startswith("17")
    assert seen["images"]["toxiproxy"]["id"].startswith("sha256:")
    assert seen["docker"]
    assert seen["compose"]


def test_each_server_has_its_log(docker_cluster: Cluster) -> None:
    logs = docker_cluster.logs()

    assert set(logs) == {"etcd-1", "postgres", "toxiproxy"}
    assert "database system is ready to accept connections" in logs["postgres"]


def test_ports_are_published_only_on_loopback(client: Any, docker_cluster: Any) -> None:
    published = client.api.containers(filters={"label": f"{ownership.RUN}={docker_cluster.run_id}"})
    hosts = {port["IP"] for each in published for port in each["Ports"] if "PublicPort" in port}

    assert hosts == {"127.0.0.1"}


def test_everything_carries_the_marks_of_its_run(things: Any, docker_cluster: Any) -> None:
    ours = ownership.this_process()

    assert len(things(docker_cluster.run_id)) == 4  # three containers and a network
    assert {ownership.owner_of(each["Labels"]) for each in things(docker_cluster.run_id)} == {ours}


@pytest.mark.slow
def test_nothing_is_left_behind(
    start: Start, things: Any, make_topology: Callable[..., Topology], run_id: str, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt), start(make_topology()):
        raise KeyboardInterrupt

    assert things(run_id) == []
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert run_id not in {note.run_id for note in run_notes.read_notes().read}


@pytest.mark.slow
def test_a_sweep_removes_what_a_killed_run_left(
    things: Any, docker_engine: Engine, run_id: str, tmp_path: Path
) -> None:
    with running_harness(docker_engine.name, run_id, tmp_path) as process:
        wait_for_line(process, "up")
        process.kill()
        process.wait()
    left = len(things(run_id))

    swept = cleanup.sweep()

    assert left == 4
    assert len([line for line in swept.removed if run_id in line]) == 4
    assert things(run_id) == []
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


@pytest.mark.slow
def test_a_sweep_cleans_up_after_a_harness_killed_during_the_start(
    things: Any, docker_engine: Engine, run_id: str, tmp_path: Path
) -> None:
    with running_harness(docker_engine.name, run_id, tmp_path) as process:
        wait_until(lambda: things(run_id) != [])  # compose has just begun, and continues
        process.kill()
        process.wait()

    cleanup.sweep()

    assert things(run_id) == []
    assert run_id not in {note.run_id for note in run_notes.read_notes().read}


@pytest.mark.slow
def test_runs_in_progress_are_kept(things: Any, docker_engine: Engine, run_id: str, tmp_path: Path) -> None:
    with running_harness(docker_engine.name, run_id, tmp_path) as process:
        wait_for_line(process, "up")
        before = len(things(run_id))

        swept = cleanup.sweep()
        cleaned = cleanup.clean()
        after = len(things(run_id))
        process.kill()
        process.wait()
    cleanup.sweep()

    assert (before, after) == (4, 4)
    assert [line for line in (*swept.removed, *cleaned.removed) if run_id in line] == []
    (kept,) = [line for line in cleaned.kept if run_id in line]
    assert kept.endswith("3 containers, 1 network: it is in progress")


@pytest.mark.slow
def test_clean_finds_leftovers_without_a_note(
    things: Any, docker_engine: Engine, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_harness(docker_engine.name, run_id, tmp_path) as process:
        wait_for_line(process, "up")
        process.kill()
        process.wait()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))

    cleaned = cleanup.clean()

    assert len([line for line in cleaned.removed if run_id in line]) == 4
    assert things(run_id) == []


@pytest.mark.slow
def test_a_container_is_frozen_killed_and_restarted(start: Start, client: Any, run_id: str) -> None:
    with start(postgres_from(None)) as cluster:
        postgres = containers_of(client, run_id)["postgres"]
        postgres.freeze()
        frozen = reply(cluster.edge(0, "postgres"), "postgres", within=0.3)
        postgres.thaw()
        thawed = reply(cluster.edge(0, "postgres"), "postgres", within=2)
        postgres.kill("SIGKILL")
        killed = reply(cluster.edge(0, "postgres"), "postgres", within=0.3)
        postgres.restart()
        wait_until(lambda: reply(cluster.edge(0, "postgres"), "postgres", within=2) is not None)
        postgres.thaw()  # it is not frozen: nothing changes
        restarted = reply(cluster.edge(0, "postgres"), "postgres", within=2)

    assert (frozen, killed) == (None, None)
    assert None not in (thawed, restarted)


@pytest.mark.slow
def test_a_frozen_container_thaws_before_it_is_removed(start: Start, client: Any, run_id: str) -> None:
    began = time.time()
    with start(postgres_from(None)):
        postgres = containers_of(client, run_id)["postgres"]
        postgres.freeze()
        postgres.kill("SIGKILL")
        postgres.restart()
        postgres.freeze()

    seen = client.api.events(since=began, until=time.time(), filters={"container": postgres.id}, decode=True)
    actions = [each["Action"] for each in seen if each["Action"] in ("pause", "unpause", "kill")]
    assert actions == ["pause", "unpause", "kill", "pause", "unpause", "kill"]
    assert containers_of(client, run_id) == {}


@pytest.mark.slow
def test_a_freeze_that_the_kernel_did_not_finish_in_time_is_tried_again(
    start: Start, client: Any, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(postgres_from(None)) as cluster:
        postgres = containers_of(client, run_id)["postgres"]
        pause, given_up = postgres.client.api.pause, [APIError(UNFROZEN), APIError(f"runc: {UNFROZEN}")]

        def busy(container: str) -> None:
            if given_up:
                raise given_up.pop()
            pause(container)

        monkeypatch.setattr(postgres.client.api, "pause", busy)
        postgres.freeze()
        frozen = reply(cluster.edge(0, "postgres"), "postgres", within=0.3)
        postgres.thaw()

    assert (given_up, frozen) == ([], None)


def test_a_system_without_a_compose_file_is_refused(docker_engine: Engine) -> None:
    server = ServerSpec(name="mysql", system="mysql")

    refused = docker_engine.refusal(Topology(servers=(server,), clients=1, partitions=False))

    assert "no compose file for mysql" in str(refused)


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("unix:///tmp/nothing-here.sock", "no Docker engine answers at unix:///tmp/nothing-here.sock"),
        ("tcp://192.0.2.1:2375", "are not on this machine"),
        ("ssh://somebody@192.0.2.1", "are not on this machine"),
        ("tcp://localhost:2375", "Fencepost connects to an engine on this machine only by its unix socket"),
        ("tcp://127.0.0.1:2375", "Fencepost connects to an engine on this machine only by its unix socket"),
        ("rubbish", "rubbish is not the address of a Docker engine"),
        ("/var/run/docker.sock", "/var/run/docker.sock is not the address of a Docker engine"),
        ("tcp://[", "is not the address of a Docker engine"),
    ],
)
def test_an_unusable_engine_is_refused(
    start: Start, docker_engine: Any, monkeypatch: pytest.MonkeyPatch, host: str, why: Any
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)

    assert why in str(docker_engine.refusal(postgres_from(None)))
    with pytest.raises(EngineUnavailableError, match=why), start(postgres_from(None)):
        pass


def test_a_removed_container_is_named(start: Start, client: Any, run_id: str) -> None:
    topology = Topology(
        servers=(ServerSpec(name="redis-1", system="redis", cluster="lock"),), clients=1, partitions=False
    )
    gone = "redis-1 is gone: its container was removed during the run"
    with start(topology) as cluster:
        cluster.check()
        client.api.remove_container(containers_of(client, run_id)["redis-1"].id, force=True)

        for act in (cluster.check, lambda: cluster.kill(["redis-1"]), lambda: cluster.restart(["redis-1"])):
            with pytest.raises(ServerNotReadyError, match=gone):
                act()
        assert set(cluster.logs()) == {"toxiproxy"}


@pytest.mark.slow
def test_docker_limits_the_size_of_a_log(start: Start, client: Any, run_id: str) -> None:
    with start(postgres_from(None)) as cluster:
        postgres = containers_of(client, run_id)["postgres"]
        postgres.run(["sh", "-c", f"head -c {3 * logs.MOST} /dev/zero | tr '\\0' x | fold > /proc/1/fd/2"])
        assert wait_for(lambda: len(cluster.logs()["postgres"]) > logs.MOST // 4)
        log = cluster.logs()["postgres"]

    assert logs.MOST // 4 < len(log) <= logs.MOST + len(logs.CUT)
