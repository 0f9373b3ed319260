"""ZooKeeper on the local engine: an ensemble, a standalone server, and refusals with the remedy."""

import shutil
import stat
import struct
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from harness.core.errors import EngineUnavailableError
from harness.engines import local_zookeeper
from harness.engines.local import LocalEngine
from harness.network.topology import ServerSpec, Topology
from harness.processes.unprivileged import unprivileged_user
from tests.support.held import processes_of
from tests.support.other_user import ask_as
from workloads.zookeeper_session import ZookeeperSession

ENSEMBLE = tuple(
    ServerSpec(name=f"zookeeper-{number}", system="zookeeper", cluster="lock") for number in (1, 2, 3)
)
ALONE = ServerSpec(name="zookeeper-storage", system="zookeeper", cluster="storage")
TOPOLOGY = Topology(servers=(*ENSEMBLE, ALONE), clients=1, partitions=False)


def framed(content: bytes) -> bytes:
    return struct.pack("!i", len(content)) + content


OPEN_SESSION = framed(struct.pack("!iqiqi16s", 0, 0, 10_000, 0, 16, b""))
ANYONE = struct.pack("!ii", 1, 31) + framed(b"world") + framed(b"anyone")
CREATE = framed(
    struct.pack("!ii", 1, 1) + framed(b"/theirs") + framed(b"changed") + ANYONE + struct.pack("!i", 0)
)


def servers_of(run_id: str) -> list[psutil.Process]:
    """Its processes but Toxiproxy, which runs wherever it is found."""
    return [each for each in processes_of(run_id) if each.name() == "java"]


@pytest.fixture
def lacks_nothing() -> None:
    try:
        local_zookeeper.check(killed=False)
    except EngineUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("lacks_nothing")
def test_three_servers_form_an_ensemble_and_one_is_standalone(run_id: str, tmp_path: Path) -> None:
    with LocalEngine().start(TOPOLOGY, run_id, tmp_path, print) as cluster:
        environment = cluster.environment()
        logs = cluster.logs()

    assert {each["system"] for each in environment["servers"].values()} == {"zookeeper"}
    assert {each["version"][:2] for each in environment["servers"].values()} == {"3."}
    assert environment["programs"] == environment["wheels"] == {}
    assert {name for name, log in logs.items() if "LEADING" in log or "FOLLOWING" in log} == {
        spec.name for spec in ENSEMBLE
    }


@pytest.mark.usefixtures("lacks_nothing", "other_user")
def test_zookeeper_started_by_root_does_not_run_as_root(run_id: str, tmp_path: Path) -> None:
    with LocalEngine().start(TOPOLOGY, run_id, tmp_path, print):
        processes = servers_of(run_id)
        users = {each.uids().real for each in processes}
        home = Path(processes[0].cmdline()[-1]).parents[1]  # of a server's zoo.cfg
        folders = {path.name: path.stat() for path in home.iterdir() if path.name != "programs"}

    assert len(processes) == 4
    assert users == {unprivileged_user()}
    assert 0 not in users
    assert set(folders) == {spec.name for spec in TOPOLOGY.servers}
    assert {stat.S_IMODE(each.st_mode) for each in folders.values()} == {0o700}
    assert {each.st_uid for each in folders.values()} == users


@pytest.mark.usefixtures("lacks_nothing")
def test_another_user_can_change_zookeepers_data_alone(run_id: str, tmp_path: Path, other_user: int) -> None:
    alone = Topology(servers=(ALONE,), clients=1, partitions=False)
    with LocalEngine().start(alone, run_id, tmp_path, print) as cluster:
        at = cluster.servers[0].address
        ask_as(other_user, at, OPEN_SESSION + CREATE)
        session = ZookeeperSession([str(at)], 10, 10)
        data, _ = session.call("get", "/theirs")
        session.end()
        commands = {each: ask_as(other_user, at, each.encode()) for each in ("conf", "envi", "stat")}
        ports = {
            connection.laddr.port
            for process in servers_of(run_id)
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }

    assert data == b"changed"
    assert all(b"not in the whitelist" in said for said in commands.values())
    assert ports == {at.port}  # no admin server, and no JMX


@pytest.mark.usefixtures("lacks_nothing", "other_user")
def test_zookeeper_starts_from_a_folder_that_only_root_can_reach(
    run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "private" / "lib"
    library.mkdir(parents=True, mode=0o700)
    for jar in local_zookeeper._jars():
        shutil.copy(jar, library)
    library.parent.chmod(0o700)
    monkeypatch.setenv("ZOOKEEPER_HOME", str(library.parent))

    alone = Topology(servers=(ALONE,), clients=1, partitions=False)
    with LocalEngine().start(alone, run_id, tmp_path / "run", print) as cluster:
        assert cluster.environment()["servers"][ALONE.name]["version"].startswith("3.")
        (server,) = servers_of(run_id)
        assert str(library) not in " ".join(server.cmdline())


def test_without_java_it_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _program: None)

    assert "no java is on PATH: apt-get install libzookeeper-java" in str(LocalEngine().refusal(TOPOLOGY))


@pytest.mark.skipif(shutil.which("java") is None, reason="no java is on PATH")
def test_without_zookeeper_it_is_refused_with_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZOOKEEPER_HOME", str(tmp_path))

    assert "finds no ZooKeeper on this machine: apt-get install" in str(LocalEngine().refusal(TOPOLOGY))


@pytest.mark.parametrize(
    ("jar", "is_refused"), [("zookeeper-3.9.3.jar", True), ("zookeeper-3.9.5.jar", False)]
)
def test_kills_of_the_release_that_loses_data_are_refused(
    jar: str, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / jar).touch()
    (tmp_path / "java").touch(mode=0o755)
    monkeypatch.setenv("ZOOKEEPER_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    refused = LocalEngine().refusal(replace(TOPOLOGY, killed=("zookeeper-storage",)))

    assert LocalEngine().refusal(TOPOLOGY) is None
    assert (refused is not None and "3.9.3 may lose data" in str(refused)) == is_refused
