"""ZooKeeper on the local engine: an ensemble, a standalone server, and refusals with the remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.core.errors import EngineUnavailableError
from harness.engines import local_zookeeper
from harness.engines.local import LocalEngine
from harness.network.topology import ServerSpec, Topology

ENSEMBLE = tuple(
    ServerSpec(name=f"zookeeper-{number}", system="zookeeper", cluster="lock") for number in (1, 2, 3)
)
ALONE = ServerSpec(name="zookeeper-storage", system="zookeeper", cluster="storage")
TOPOLOGY = Topology(servers=(*ENSEMBLE, ALONE), clients=1, partitions=False)


@pytest.fixture
def lacks_nothing() -> None:
    try:
        local_zookeeper.check()
    except EngineUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("lacks_nothing")
def test_three_servers_form_an_ensemble_and_one_is_standalone(run_id: str, tmp_path: Path) -> None:
    with LocalEngine().start(TOPOLOGY, run_id, tmp_path, print) as cluster:
        environment = cluster.environment()
        logs = cluster.logs()

    assert {each["system"] for each in environment["servers"].values()} == {"zookeeper"}
    assert {each["version"][:2] for each in environment["servers"].values()} == {"3."}
    assert environment["wheels"] == {}
    assert {name for name, log in logs.items() if "LEADING" in log or "FOLLOWING" in log} == {
        spec.name for spec in ENSEMBLE
    }


def test_without_java_it_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _program: None)

    assert "no java is on PATH: apt-get install libzookeeper-java" in str(LocalEngine().refusal(TOPOLOGY))


@pytest.mark.skipif(shutil.which("java") is None, reason="no java is on PATH")
def test_without_zookeeper_it_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZOOKEEPER_HOME", str(tmp_path))

    assert "finds no ZooKeeper on this machine: apt-get install" in str(LocalEngine().refusal(TOPOLOGY))
