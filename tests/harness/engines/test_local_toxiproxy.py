"""The local engine's sources of Toxiproxy: PATH, its cache, our image, or Go."""

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from harness.core.errors import EngineUnavailableError
from harness.engines import local_toxiproxy
from harness.engines.built_images import pins
from harness.engines.engine import Engine
from harness.network.topology import ServerSpec, Topology
from tests.support.held import wait_until
from tests.support.repository import ROOT

VERSION = f"toxiproxy-server version {pins()['TOXIPROXY']}"
SERVER = f"#!/bin/sh\necho {VERSION}\n"
PROVIDE = "from harness.engines import local_toxiproxy; print(local_toxiproxy.provide(lambda line: None))"
NO_DOCKER = "unix:///tmp/nothing-here.sock"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, on a machine without a Docker engine and with an empty cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cat", "chmod", "sh"):
        (folder / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", NO_DOCKER)
    return folder


@pytest.fixture
def builds(programs: Path, tmp_path: Path) -> Path:
    """A fake Go, and the file in which it logs its calls."""
    log = tmp_path / "builds"
    install(programs / "go", f'#!/bin/sh\necho "$@" >> {log}\n{leave(SERVER)}')
    return log


def leave(server: str) -> str:
    """Return shell commands that put such a server where Go would."""
    return f"cat > $GOBIN/server <<'END'\n{server}END\nchmod +x $GOBIN/server\n"


def install(path: Path, script: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(script)
    path.chmod(0o755)


def provide() -> Path:
    return local_toxiproxy.provide(print)


def providing() -> Popen[str]:
    """Start another process that needs it."""
    root = ROOT
    return subprocess.Popen([sys.executable, "-c", PROVIDE], stdout=subprocess.PIPE, text=True, cwd=root)


def kept(tmp_path: Path) -> list[Any]:
    return sorted(path.name for path in (tmp_path / "cache" / "fencepost").iterdir())


def answer(program: Path) -> str:
    return subprocess.run([program, "-version"], capture_output=True, text=True, check=True).stdout.strip()


def test_toxiproxy_on_path_comes_first(programs: Path, builds: Path) -> None:
    install(programs / "toxiproxy-server", SERVER)

    assert provide() == programs / "toxiproxy-server"
    assert not builds.exists()


def test_toxiproxy_is_built_once_and_cached_under_its_digest(builds: Path, tmp_path: Path) -> None:
    program = provide()

    assert answer(program) == VERSION
    assert provide() == local_toxiproxy.find() == program
    assert len(builds.read_text().splitlines()) == 1
    assert program.name.endswith(hashlib.sha256(program.read_bytes()).hexdigest())
    assert kept(tmp_path) == ["lock", program.name]
    assert (tmp_path / "cache" / "fencepost").stat().st_mode & 0o777 == 0o700


def test_toxiproxy_is_copied_from_our_image_if_docker_answers(
    docker_engine: Engine,  # noqa: ARG001 - its image is there then
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only_docker = tmp_path / "bin"
    only_docker.mkdir()
    (only_docker / "docker").symlink_to(shutil.which("docker"))
    monkeypatch.setenv("PATH", str(only_docker))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    program = provide()
    monkeypatch.setenv("DOCKER_HOST", NO_DOCKER)

    assert answer(program) == VERSION
    assert provide() == program
    assert kept(tmp_path) == ["lock", program.name]


@pytest.mark.slow
@pytest.mark.timeout(900)  # if Go's own cache has none of it yet
def test_go_builds_the_real_toxiproxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go is on PATH")
    module = f"{local_toxiproxy.MODULE}@v{pins()['TOXIPROXY']}"
    found = subprocess.run([go, "mod", "download", module], capture_output=True, check=False, cwd="/")
    if found.returncode:
        pytest.skip(f"{module} is not available")
    cache = subprocess.run([go, "env", "GOCACHE"], capture_output=True, text=True, check=True, cwd="/")
    only_go = tmp_path / "bin"
    only_go.mkdir()
    install(only_go / "go", f'#!/bin/sh\nexec {go} "$@"\n')  # through a link it would not find its own folder
    (only_go / "sh").symlink_to(shutil.which("sh"))
    monkeypatch.setenv("PATH", str(only_go))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GOCACHE", cache.stdout.strip())
    monkeypatch.setenv("DOCKER_HOST", NO_DOCKER)

    assert answer(provide()) == VERSION


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize("harm", ["changed", "cut short", "replaced by a link", "not executable"])
def test_a_changed_toxiproxy_is_replaced(tmp_path: Path, harm: str) -> None:
    program = provide()
    if harm == "changed":
        program.write_text(SERVER + "echo something else\n")
    elif harm == "cut short":
        os.truncate(program, 5)
    elif harm == "replaced by a link":
        program.rename(tmp_path / "elsewhere")
        program.symlink_to(tmp_path / "elsewhere")
    else:
        program.chmod(0o600)

    assert local_toxiproxy.find() is None
    assert provide() == program
    assert answer(program) == VERSION
    assert kept(tmp_path) == ["lock", program.name]
    assert not program.is_symlink()


@pytest.mark.slow
def test_four_concurrent_processes_build_toxiproxy_once(builds: Path, programs: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    install(programs / "go", f'#!/bin/sh\necho "$@" >> {builds}\ncat {gate}\n{leave(SERVER)}')
    needing = [providing() for _ in range(4)]
    wait_until(builds.exists)

    gate.write_text("")  # lets the build continue, as soon as it reads
    answers = {process.communicate(timeout=300)[0] for process in needing}

    assert answers == {f"{local_toxiproxy.find()}\n"}
    assert len(builds.read_text().splitlines()) == 1


def test_a_process_killed_in_the_build_blocks_no_other(builds: Path, programs: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    install(programs / "go", f"#!/bin/sh\necho >> {builds}\ncat {gate}\n")
    killed = providing()
    wait_until(builds.exists)
    killed.kill()
    killed.communicate()

    install(programs / "go", f"#!/bin/sh\n{leave(SERVER)}")
    program = provide()
    os.close(os.open(gate, os.O_RDWR))  # ends the waiting build

    assert answer(program) == VERSION
    assert kept(tmp_path) == ["lock", local_toxiproxy.find().name]


@pytest.mark.usefixtures("programs")
def test_without_any_way_to_get_toxiproxy_the_remedy_is_given() -> None:
    refused = local_toxiproxy.refusal()

    assert "no toxiproxy-server is on PATH, no Docker engine answers" in refused
    assert "Go is not installed to build it" in refused
    assert "apt-get install golang-go" in refused
    with pytest.raises(EngineUnavailableError, match="no Docker engine answers"):
        provide()


@pytest.mark.usefixtures("programs")
def test_a_standby_is_refused_without_toxiproxy(local_engine: Engine) -> None:
    primary = ServerSpec(name="postgres", system="postgres")
    standby = ServerSpec(name="postgres-standby", system="postgres", follows="postgres")
    alone = Topology(servers=(primary,), clients=2, partitions=False)

    refused = local_engine.refusal(replace(alone, servers=(primary, standby)))

    assert local_engine.refusal(alone) is None
    assert "no toxiproxy-server is on PATH" in str(refused)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no such module >&2; exit 1", r"go ended with status 1; .*\n(.*\n)*.*no such module"),
        (leave("#!/bin/sh\necho toxiproxy-server version 1.0.0\n"), "is not version"),
        (leave("#!/bin/sh\nexit 3\n"), "is not version"),
        ("exit 0", "produced no"),
    ],
    ids=["it fails", "another version", "a server that ends", "nothing was built"],
)
def test_no_bad_build_is_cached(builds: Path, programs: Path, tmp_path: Path, script: str, said: str) -> None:
    install(programs / "go", f"#!/bin/sh\n{script}\n")

    with pytest.raises(EngineUnavailableError, match=said):
        provide()

    assert not builds.exists()
    assert kept(tmp_path) == ["lock"]


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize("harm", ["others may write to it", "it is a symbolic link"])
def test_a_cache_folder_that_others_can_write_to_is_refused(tmp_path: Path, harm: str) -> None:
    folder = tmp_path / "cache" / "fencepost"
    folder.parent.mkdir()
    if "link" in harm:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        folder.chmod(0o777)

    assert local_toxiproxy.find() is None
    with pytest.raises(EngineUnavailableError, match=harm):
        provide()


@pytest.mark.usefixtures("builds")
def test_a_relative_cache_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")

    assert local_toxiproxy.find() is None
    with pytest.raises(EngineUnavailableError, match="it is not absolute"):
        provide()
    assert not (tmp_path / "relative").exists()


@pytest.mark.usefixtures("builds")
def test_a_cache_folder_that_cannot_be_created_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")  # not even root can make that

    with pytest.raises(
        EngineUnavailableError, match=r"cannot be cached in /proc/none/fencepost: .*XDG_CACHE_HOME"
    ):
        provide()
