"""The worked examples of client programs: each is started, paused and judged, as its page says."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from checkers.vocabulary.anomalies import VIOLATIONS
from harness.engines.engine import Engine
from harness.network.topology import ServerSpec, Topology
from tests.support.challenged import run_until_challenged
from tests.support.command import fencepost, ran, run_target
from tests.support.console_blocks import follow, shell
from tests.support.missing import miss, need
from tests.support.repository import ROOT

EXAMPLES = ROOT / "examples"
ADAPTERS = EXAMPLES / "locks"
BUILD = ["mvn", "-q", "-B", "package"]


def topology(*systems: str) -> Topology:
    servers = tuple(ServerSpec(name=system, system=system) for system in systems)
    return Topology(servers=servers, clients=1, partitions=False)


def run(
    folder: Path, target: str, *settings: str, seconds: int = 6, engine: str = "local"
) -> CompletedProcess[str]:
    """Run a target of an example as its page says, with this Python as python3, until it was challenged."""
    (folder / "bin").mkdir(exist_ok=True)
    python = folder / "bin" / "python3"
    if not python.exists():
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return run_until_challenged(
        lambda duration: run_target(folder, target, duration, *settings, engine=engine, PATH=path), seconds
    )


def verdict(done: CompletedProcess[str]) -> Any:
    """Return the verdict of a run that was as expected, with an attempted stale write."""
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["coverage"]["stale_writes_attempted"] >= 1
    assert "committed" in {each["evidence"] for each in document["checkers"]}
    return document


def stopped_processes(folder: Path, name: str) -> list[Any]:
    """Return how many processes each pause of the last run stopped."""
    plan = json.loads((folder / "runs" / name / "latest" / "plan.json").read_text())
    return [fault["evidence"].count(", ") + 1 for fault in plan["faults"]]


@pytest.fixture
def python_locks(tmp_path: Path, local_engine: Engine) -> Path:
    need(local_engine, topology("redis", "postgres"))
    return shutil.copytree(EXAMPLES / "locks/python", tmp_path / "python")


@pytest.mark.nightly
def test_lock_then_incr_is_found_in_an_adapter_of_redis_py(python_locks: Path) -> None:
    long_holds = "workload.think=200ms"  # else a successor has often released before the pause ends
    document = verdict(run(python_locks, "lock-then-incr.toml", long_holds, seconds=20))

    environment = (python_locks / "runs/redis-py-lock-then-incr/latest/environment.json").read_text()
    assert document["anomalies"]["early-grant"] >= 1
    assert "redis-py" in json.loads(environment)["program"]["versions"]


@pytest.mark.nightly
def test_a_stale_write_is_found_with_a_lock_without_tokens(python_locks: Path) -> None:
    document = verdict(run(python_locks, "plain-lock.toml", seconds=12))

    assert document["anomalies"]["stale-write"] >= 1
    assert {finding["rule"] for finding in document["findings"]} == {"after-later-hold"}
    assert [notice for notice in document.get("notices", ()) if "no fencing token" in notice]


@pytest.mark.slow
def test_the_adapter_of_redis_py_follows_the_protocol(python_locks: Path) -> None:
    command = shlex.join([sys.executable, "redis_py.py"])

    done = fencepost(python_locks, "check-client", "--engine=local", "--side=lock", "--lock=redis", command)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("target", "found", "refused"),
    [("lock-file", "invalid", False), ("epoch-file", "valid", True)],
)
def test_a_lock_file_in_a_bucket_needs_an_epoch(
    tmp_path: Path, docker_engine: Engine, target: str, found: str, refused: bool
) -> None:
    need(docker_engine, topology("s3"))
    folder = shutil.copytree(EXAMPLES / "bucket-lock", tmp_path / "bucket-lock")
    document = verdict(run(folder, f"{target}.toml", seconds=8, engine="docker"))

    assert document["verdict"] == found
    assert (document["coverage"]["stale_writes_rejected"] > 0) is refused


@pytest.fixture
def python_client(tmp_path: Path, local_engine: Engine) -> Path:
    need(local_engine, topology("redis", "postgres"))
    return shutil.copytree(EXAMPLES / "python-client", tmp_path / "python-client")


@pytest.mark.slow
def test_the_python_client_keeps_stale_writers_out(python_client: Path) -> None:
    document = verdict(run(python_client, "fenced.toml"))

    assert document["verdict"] == "valid"
    assert set(stopped_processes(python_client, "python-client")) == {2}


@pytest.mark.nightly
def test_the_python_client_without_the_comparison_accepts_stale_writes(python_client: Path) -> None:
    document = verdict(run(python_client, "unfenced.toml"))

    assert document["anomalies"]["stale-write"] >= 1


@pytest.mark.nightly
def test_the_python_client_with_a_separate_incr_gets_a_newer_token(python_client: Path) -> None:
    document = verdict(run(python_client, "separate-incr.toml", seconds=12))

    plan = json.loads((python_client / "runs/python-client-separate-incr/latest/plan.json").read_bytes())
    assert document["anomalies"]["early-grant"] >= 1
    at_granted = [fault for fault in plan["faults"] if fault["at"] == "granted"]
    assert at_granted
    assert all(fault["owner"] and fault["in_force"] < fault["healed"] for fault in at_granted)
    hit = sum(windows["hit"] for windows in plan["windows"])
    assert 1 <= hit <= document["coverage"]["pauses"] <= len(plan["faults"])  # one may have hit nothing


@pytest.fixture(scope="module")
def java_client(tmp_path_factory: pytest.TempPathFactory, local_engine: Engine) -> Path:
    """The Java client, built once because Maven is slow."""
    if local_engine.refusal(topology("postgres")) or not (shutil.which("mvn") and shutil.which("javac")):
        miss("the Java example needs PostgreSQL, Maven and a JDK")
    folder = shutil.copytree(EXAMPLES / "java-client", tmp_path_factory.mktemp("java") / "java-client")
    built = ran(BUILD, cwd=folder, timeout=500)
    assert built.returncode == 0, built.stdout
    return folder


@pytest.mark.nightly
@pytest.mark.timeout(900)  # Maven may build first
def test_the_java_client_keeps_stale_writers_out(java_client: Path) -> None:
    document = verdict(run(java_client, "fenced.toml"))

    assert document["verdict"] == "valid"
    assert set(stopped_processes(java_client, "java-client")) == {2}


@pytest.mark.nightly
@pytest.mark.timeout(900)  # Maven may build first
def test_the_java_client_answers_ok_to_writes_of_a_missing_row(java_client: Path) -> None:
    document = verdict(run(java_client, "missing-row.toml"))

    found = {name for name, count in document["anomalies"].items() if count and name in VIOLATIONS}
    assert found == {"phantom-accept"}


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.timeout(1200)  # it repeats a run that was not tested
def test_each_command_of_the_tutorial_prints_what_the_page_shows(tmp_path: Path) -> None:
    with shell(ROOT, HOME=str(tmp_path)) as opened:
        follow(ROOT / "docs/tutorial.md", opened, tmp_path / "orders")


LANGUAGES = {".py", ".go", ".java", ".mjs"}
BUILT = {".venv", "node_modules", "target"}
LONGEST, LONGEST_PROTOCOL = 60, 80  # lines
LONGER = {"redis_semaphore.mjs": 90, "portalocker_redis.py": 95}
"""Adapters that also show what their libraries hide: renewals, and the moment before the token."""


def test_no_protocol_file_or_adapter_is_too_long() -> None:
    lengths = {
        path.relative_to(ADAPTERS): len(path.read_text(encoding="utf-8").splitlines())
        for path in ADAPTERS.rglob("*.*")
        if path.suffix in LANGUAGES and not BUILT & {*path.parts}
    }

    protocols = {path for path in lengths if path.stem.lower() == "protocol"}
    assert {path.suffix for path in protocols} == LANGUAGES
    limits = {
        path: LONGEST_PROTOCOL if path in protocols else LONGER.get(path.name, LONGEST) for path in lengths
    }
    assert {str(path): lines for path, lines in lengths.items() if lines > limits[path]} == {}
