"""Complete runs, as a user starts them: real servers, real clients, real faults, on both engines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from signal import Signals
from subprocess import Popen
from typing import Any

import psutil
import pytest
from psutil import Process

from harness.engines import local_toxiproxy
from harness.engines.engine import Engine
from tests.support.selection import BOTH_ENGINES

pytestmark = pytest.mark.engine

FENCEPOST = Path(sys.executable).with_name("fencepost")
SHORT = ["--set", "workload.duration=6s"]
LONG = ["--set", "workload.duration=60s"]
LABEL = "label=fencepost"


@pytest.fixture(params=BOTH_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue(f"{request.param}_engine")
    return str(request.param)


@pytest.fixture
def cutting_engine(engine: str) -> str:
    """An engine that can cut edges, for which the local one needs Toxiproxy."""
    if engine == "local":
        local_toxiproxy.provide(print)
    return engine


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This test's own state folder, so that no other command sweeps first."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "fencepost"


def start(*arguments: str, cwd: Path) -> Popen[Any]:
    return subprocess.Popen(
        [FENCEPOST, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )


def fencepost(*arguments: Any, cwd: Path) -> tuple[object, Any, Any]:
    process = start(*arguments, cwd=cwd)
    stdout, stderr = process.communicate(timeout=100)
    return process.returncode, stdout, stderr


def run(target: Any, engine: Any, cwd: Path, *options: Any) -> tuple[Any, Any]:
    code, stdout, stderr = fencepost("run", target, "--engine", engine, "--format", "json", *options, cwd=cwd)
    assert stdout, stderr
    return code, json.loads(stdout)


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def events_of(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()[1:]]


def descendants(process: Any) -> list[Process]:
    return psutil.Process(process.pid).children(recursive=True)


def alive(processes: list[Process]) -> list[Any]:
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def left_in_docker(run_id: Any) -> list[Any]:
    if shutil.which("docker") is None:
        return []
    mine = f"{LABEL}={run_id}"
    asked = (
        ["docker", "ps", "-aq", "--filter", mine],
        ["docker", "network", "ls", "-q", "--filter", mine],
        ["docker", "volume", "ls", "-q", "--filter", mine],
    )
    return [
        line
        for command in asked
        for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    ]


@pytest.fixture(scope="module")
def unfenced_run(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Any]:
    """A run that finds a stale write: exit code, verdict and folder."""
    return short_run("etcd-postgres-unfenced", local_engine.name, tmp_path_factory.mktemp("unfenced"))


@pytest.fixture(scope="module")
def fenced_run(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Any]:
    """A run whose fence holds: exit code, verdict and folder."""
    folder = tmp_path_factory.mktemp("fenced")
    return short_run("etcd-postgres", local_engine.name, folder, "--seed", "7")


def short_run(target: str, engine: str, cwd: Path, *options: str) -> tuple[Any, Any, Any]:
    code, verdict = run(target, engine, cwd, *SHORT, *options)
    return code, verdict, (cwd / "runs" / target / "latest").resolve()


def shows_the_expected_stale_write(code: Any, verdict: Any, folder: Any) -> bool:
    assert (code, verdict["verdict"], verdict["as_expected"]) == (0, "invalid", True)
    assert verdict["anomalies"]["stale-write"] >= 1
    finding = verdict["findings"][0]
    events = events_of(folder)
    writes = {events[line - 2]["token"] for line in finding["operations"] if events[line - 2]["f"] == "write"}
    return len(writes) == 2


def shows_a_fence_that_held(code: Any, verdict: Any) -> Any:
    coverage = verdict["coverage"]
    assert (code, verdict["verdict"]) == (0, "valid")
    assert coverage["pauses_past_lease"] >= 1
    return coverage["stale_writes_attempted"] == coverage["stale_writes_rejected"] >= 1


def test_an_unfenced_storage_accepts_a_stale_write_as_expected(unfenced_run: tuple[Any, Any, Any]) -> None:
    assert shows_the_expected_stale_write(*unfenced_run), "the stale write, and the newer one before it"


@pytest.mark.slow
@pytest.mark.usefixtures("docker_engine")
def test_an_unfenced_storage_in_a_container_accepts_one_too(tmp_path: Path) -> None:
    assert shows_the_expected_stale_write(*short_run("etcd-postgres-unfenced", "docker", tmp_path))


def test_a_fence_rejects_every_stale_write(fenced_run: tuple[Any, Any, Any]) -> None:
    code, verdict, _ = fenced_run

    assert shows_a_fence_that_held(code, verdict)


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
@pytest.mark.parametrize(
    "target",
    ["etcd-postgres-inclusive", "etcd-postgres-select-for-update", "etcd-postgres-upsert", "etcd-sqlite"],
)
def test_every_fence_rejects_every_stale_write(tmp_path: Path, target: Any) -> None:
    code, verdict = run(target, "local", tmp_path, *SHORT)

    assert shows_a_fence_that_held(code, verdict)


@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize(
    "target",
    [
        "etcd-postgres",
        pytest.param("zookeeper-zookeeper", marks=pytest.mark.slow),
        pytest.param("zookeeper-dynamodb", marks=pytest.mark.slow),
    ],
)
def test_a_fence_rejects_every_stale_write_in_containers(tmp_path: Path, target: str) -> None:
    code, verdict = run(target, "docker", tmp_path, *SHORT)

    assert (code, verdict["verdict"]) == (0, "valid")
    assert verdict["coverage"]["stale_writes_rejected"] >= 1


def test_partitions_are_seen_in_force_and_healed_and_the_fence_holds(
    cutting_engine: str, tmp_path: Path
) -> None:
    code, verdict = run("etcd-postgres-partition", cutting_engine, tmp_path, "--set", "workload.duration=12s")

    folder = tmp_path / "runs" / "etcd-postgres-partition" / "latest"
    cuts = [
        each
        for each in json.loads((folder / "plan.json").read_text())["faults"]
        if each["kind"] == "partition"
    ]
    assert (code, verdict["verdict"]) == (0, "valid")
    assert verdict["coverage"]["partitions"] == len(cuts) >= 2
    assert all(each["requested"] < each["in_force"] < each["healed"] for each in cuts)
    assert any(event["type"] == "info" and event["f"] != "partition" for event in events_of(folder))


def test_a_run_without_faults_proves_nothing(engine: str, tmp_path: Path) -> None:
    code, verdict = run("etcd-postgres", engine, tmp_path, "--no-faults", "--set", "workload.duration=2s")

    assert (code, verdict["verdict"]) == (2, "unknown")
    assert "not exercised" in verdict["reasons"][0]


def test_the_run_folder_has_the_files_for_other_tools(fenced_run: tuple[Any, Any, Any]) -> None:
    _, _, folder = fenced_run

    names = {path.name for path in folder.iterdir()}
    assert {
        "target.toml", "plan.json", "history.jsonl", "commits.jsonl", "verdict.json", "report.html",
        "environment.json", "logs",
    } <= names  # fmt: skip
    header = json.loads((folder / "history.jsonl").read_text().splitlines()[0])
    assert header["seed"] == 7
    assert header["initial"] == {"value": None, "token": -1}
    assert all((folder / "logs" / f"{name}.log").exists() for name in ("etcd-1", "postgres", "client-0"))


@pytest.mark.slow
def test_two_runs_can_run_at_the_same_time(engine: str, tmp_path: Path) -> None:
    both = [
        start("run", "etcd-postgres", "--engine", engine, "--format", "json", *SHORT, cwd=tmp_path)
        for _ in range(2)
    ]

    verdicts = [json.loads(process.communicate(timeout=100)[0]) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert [verdict["verdict"] for verdict in verdicts] == ["valid", "valid"]


def started_run(engine: str, target: str, cwd: Path) -> Any:
    """A run in progress that has recorded the effects of its first fault."""
    process = start("run", target, "--engine", engine, *LONG, cwd=cwd)
    latest = cwd / "runs" / target / "latest"

    def has_had_faults() -> bool:
        plan = latest / "plan.json"
        if not plan.exists():
            return False
        return sum(each["healed"] is not None for each in json.loads(plan.read_text())["faults"]) >= 3

    assert wait_for(has_had_faults), process.communicate(timeout=5)
    return process, latest.resolve()


@pytest.mark.parametrize(
    "interruption", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupted_run_is_judged_and_leaves_nothing_behind(
    engine: str, tmp_path: Path, state: Path, interruption: Signals
) -> None:
    process, folder = started_run(engine, "etcd-postgres-unfenced", tmp_path)
    children = descendants(process)

    os.killpg(process.pid, interruption)
    stdout, stderr = process.communicate(timeout=30)

    assert process.returncode == 130, stderr
    assert "stale-write" in stdout
    assert json.loads((folder / "verdict.json").read_text())["verdict"] == "invalid"
    assert wait_for(lambda: not alive(children), 5)
    assert left_in_docker(folder.name) == []
    assert list(state.iterdir()) == []


def test_a_killed_run_can_be_judged_and_leaves_nothing_behind(
    engine: str, tmp_path: Path, state: Path
) -> None:
    process, folder = started_run(engine, "etcd-postgres-unfenced", tmp_path)
    children = descendants(process)

    process.kill()
    process.communicate(timeout=30)
    assert wait_for(lambda: not alive(children), 5), "every child dies with the harness"
    code, stdout, stderr = fencepost("recheck", str(folder), "--format", "json", cwd=tmp_path)

    assert code == 0, stderr
    verdict = json.loads(stdout)
    assert verdict["anomalies"]["stale-write"] >= 1
    assert "only what the clients saw was judged" in stderr
    assert {checker["evidence"] for checker in verdict["checkers"] if checker["name"] == "stale-write"} == {
        "observed"
    }
    assert left_in_docker(folder.name) == []
    assert list(state.iterdir()) == []


def test_a_recheck_gives_the_same_verdict_and_leaves_the_history_alone(
    unfenced_run: tuple[Any, Any, Any], tmp_path: Path
) -> None:
    _, verdict, folder = unfenced_run
    recorded = (folder / "history.jsonl").read_bytes()

    code, stdout, _ = fencepost("recheck", str(folder), "--format", "json", cwd=tmp_path)

    again = json.loads(stdout)
    assert code == 0
    assert again["findings"] == verdict["findings"]
    assert again["coverage"] == verdict["coverage"]
    assert (folder / "history.jsonl").read_bytes() == recorded


def test_the_history_alone_is_enough_to_judge_it(unfenced_run: tuple[Any, Any, Any], tmp_path: Path) -> None:
    _, _, folder = unfenced_run
    alone = tmp_path / "elsewhere.jsonl"
    shutil.copy(folder / "history.jsonl", alone)

    code, stdout, _ = fencepost("recheck", str(alone), "--format", "json", cwd=tmp_path)

    assert code == 0
    assert json.loads(stdout)["anomalies"]["stale-write"] >= 1
