"""Runs that are interrupted or killed: they can be judged, and leave nothing behind."""

import json
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from signal import Signals
from subprocess import Popen
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
from psutil import Process

from harness.files.known_digests import KnownDigest
from harness.spec import load
from tests.support.command import DEADLINE, fencepost, start
from tests.support.selection import BOTH_ENGINES, nightly
from tests.support.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.engine

LONG = "workload.duration=600s"
LABEL = "label=fencepost"


@pytest.fixture(params=BOTH_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue(f"{request.param}_engine")
    return str(request.param)


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """This test's folders for notes, so that no other command sweeps first, and for temporary files.

    The latter has a short path, for sockets, and the users of servers can enter it.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with TemporaryDirectory(prefix="fp-") as temporary:
        Path(temporary).chmod(0o711)
        monkeypatch.setenv("TMPDIR", temporary)
        yield tmp_path / "state" / "fencepost", Path(temporary)


def descendants(process: Any) -> list[Process]:
    return psutil.Process(process.pid).children(recursive=True)


def alive(processes: list[Process]) -> list[Any]:
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def left_behind(run: Path, *folders: Path) -> list[Any]:
    """Return what is left of a run in Docker, and in folders, but for the digests that stay."""
    files = (path for folder in folders for path in folder.iterdir())
    return [*left_in_docker(run.name), *(path for path in files if path.name not in set(KnownDigest))]


def left_in_docker(run_id: str) -> list[str]:
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


def started_run(engine: str, target: str, cwd: Path) -> Any:
    """A run in progress that has recorded a write with a token that had been superseded."""
    process = start("run", target, "--engine", engine, "--set", LONG, cwd=cwd)
    latest = cwd / "runs" / target / "latest"
    assert wait_for(lambda: has_accepted_a_stale_write(latest), 2 * PATIENCE), end(process)
    return process, latest.resolve()


def has_accepted_a_stale_write(folder: Path) -> bool:
    """Has a write been acknowledged that was called after one with a newer token had been?"""
    events = sorted(recorded_so_far(folder), key=itemgetter("time"))
    newest: Counter[str] = Counter()  # the highest token that was acknowledged, by resource
    called: dict[Any, int] = {}  # the highest one when a process called its write
    for event in events:
        if event["f"] != "write":
            continue
        process, resource = event["process"], event["resource"]
        if event["type"] == "invoke":
            called[process] = newest[resource]
        elif event["type"] == "ok":
            if event["token"] < called[process]:
                return True
            newest[resource] = max(newest[resource], event["token"])
    return False


def recorded_so_far(folder: Path) -> list[Any]:
    """Return what the clients of a run in progress have recorded, without a line that is not complete."""
    files = (folder / "events").glob("client-*.jsonl")
    lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def end(process: Popen[Any]) -> Any:
    process.kill()
    return process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "interruption"),
    [("local", signal.SIGINT), *nightly(("local", signal.SIGTERM), ("docker", signal.SIGINT))],
    indirect=["engine"],
)
def test_an_interrupted_run_is_judged_and_leaves_nothing_behind(
    engine: str, tmp_path: Path, own_folders: tuple[Path, Path], interruption: Signals
) -> None:
    process, folder = started_run(engine, "etcd-postgres-unfenced", tmp_path)
    children = descendants(process)

    os.killpg(process.pid, interruption)
    stdout, stderr = process.communicate(timeout=DEADLINE)

    assert process.returncode == 130, stderr
    assert "stale write" in stdout
    assert json.loads((folder / "verdict.json").read_text())["verdict"] == "invalid"
    assert wait_for(lambda: not alive(children))
    assert left_behind(folder, *own_folders) == []


@pytest.mark.nightly
def test_a_killed_run_can_be_judged_and_leaves_nothing_behind(
    engine: str, tmp_path: Path, own_folders: tuple[Path, Path]
) -> None:
    process, folder = started_run(engine, "etcd-postgres-unfenced", tmp_path)
    children = descendants(process)

    process.kill()
    process.communicate(timeout=DEADLINE)
    assert wait_for(lambda: not alive(children)), "every child dies with the harness"
    done = fencepost(tmp_path, "recheck", folder, "--format", "json")

    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["anomalies"]["stale-write"] >= 1
    assert "only what the clients saw was judged" in done.stderr
    assert {checker["evidence"] for checker in verdict["checkers"] if checker["name"] == "stale-write"} == {
        "observed"
    }
    assert left_behind(folder, *own_folders) == []


ONCE = "workload.duration=40s"  # a fault that strikes once per run does so in its second fifth
FAILS_EARLY = "29"  # a seed: at the beginning of that fifth
LATE_MEMBERS = """faults=[
    {kind="pause", target="holder", at="before-write", until="superseded"},
    {kind="delay", target="lock:leader", by="1s", every="3s", lasts="2s"},
]"""
IN_FORCE = [  # with each engine that injects the fault in a way of its own
    ("docker", ("etcd-postgres-kill", LONG), "kill", "storage"),
    *nightly(
        ("local", ("etcd-postgres-partition", LONG), "partition", "client:"),
        ("local", ("etcd-postgres-two-primaries", ONCE), "failover", "storage"),
        ("local", ("etcd-postgres-stop", LONG), "stop", "client:"),
        ("local", ("etcd-postgres-delayed-write", LONG), "delay", "client:"),
        ("local", ("etcd-postgres-server-pauses", LONG), "pause", "lock:etcd-"),
        ("local", ("etcd-postgres-throttle", LONG), "throttle", "lock:etcd-"),
        ("local", ("etcd-postgres-throttle", LONG), "throttle", "client:"),
        ("docker", ("etcd-postgres-server-pauses", LONG), "pause", "storage"),
        ("docker", ("etcd-postgres-two-primaries", ONCE), "failover", "storage"),
        ("docker", ("etcd-postgres-throttle", LONG), "throttle", "lock:etcd-"),
        ("docker", ("etcd-postgres-slow-network", LONG), "slow", "client:"),
        ("docker", ("redis-postgres-clock", LONG), "clock", "lock"),
        ("docker", ("etcd-postgres-leader-isolated", LONG), "partition", "lock:etcd-"),
        ("docker", ("redis-postgres-replica-cut-off", LONG), "partition", "lock:redis-replica"),
        ("docker", ("etcd-postgres", LATE_MEMBERS), "delay", "lock:etcd-"),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "run", "fault", "hit"), IN_FORCE, indirect=["engine"])
def test_a_run_killed_during_a_fault_leaves_nothing_behind(
    engine: str, own_folders: tuple[Path, Path], tmp_path: Path, run: tuple[str, str], fault: str, hit: str
) -> None:
    target, setting = run
    process = start("run", target, "--engine", engine, "--set", setting, cwd=tmp_path)
    latest = tmp_path / "runs" / target / "latest"
    assert wait_for(lambda: is_in_force(latest / "plan.json", fault, hit), 2 * PATIENCE), end(process)

    check_that_a_kill_leaves_nothing(process, tmp_path, latest.resolve(), own_folders)


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
def test_a_kill_before_patroni_acts_leaves_nothing(tmp_path: Path, own_folders: tuple[Path, Path]) -> None:
    target = "etcd-postgres-patroni"
    process = start("run", target, "--engine", "docker", "--seed", FAILS_EARLY, cwd=tmp_path)
    latest = tmp_path / "runs" / target / "latest"
    assert wait_for(lambda: primary_of(latest.resolve().name) == "exited", 2 * PATIENCE), end(process)

    check_that_a_kill_leaves_nothing(process, tmp_path, latest.resolve(), own_folders)


def primary_of(run_id: str) -> str:
    """Return the state of the primary's container; "" before it starts."""
    labels = (f"{LABEL}={run_id}", "label=com.docker.compose.service=postgres")
    command = ["docker", "ps", "-a", "--format", "{{.State}}", "--filter", labels[0], "--filter", labels[1]]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def check_that_a_kill_leaves_nothing(
    process: Popen[str], cwd: Path, folder: Path, own_folders: tuple[Path, Path]
) -> None:
    children = descendants(process)

    process.kill()
    process.communicate(timeout=DEADLINE)
    assert wait_for(lambda: not alive(children))
    done = fencepost(cwd, "recheck", folder, "--format", "json")

    violations = (
        (1,) if load(folder / "target.toml").expected else ()
    )  # with a planted bug, it may have been found by then
    assert done.returncode in (0, 2, *violations), done.stderr
    assert left_behind(folder, *own_folders) == []


def is_in_force(plan: Path, kind: str, hit: str) -> bool:
    """Does a plan have such a fault that was observed in force, and not observed healed yet?"""
    faults = json.loads(plan.read_text())["faults"] if plan.is_file() else []
    return any(
        (fault["kind"], fault["healed"]) == (kind, None)
        and fault["in_force"]
        and fault["target"].startswith(hit)
        for fault in faults
    )
