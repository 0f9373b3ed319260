"""Complete runs: real servers, real clients, real faults, on both engines."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.engines import local_toxiproxy
from harness.engines.engine import Engine
from tests.support.challenged import ATTEMPTED, Condition, counted, proves_nothing, run_until_challenged
from tests.support.command import DEADLINE, fencepost, run_target, run_words, start
from tests.support.selection import BOTH_ENGINES, nightly

pytestmark = pytest.mark.engine

SHORT = 6  # s
PAST_LEASE_AND_REJECTED = counted("pauses_past_lease", "stale_writes_rejected")


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


def events_of(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()[1:]]


@pytest.fixture(scope="module")
def unfenced_run(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Any]:
    """A run that finds a stale write: exit code, verdict and folder."""
    return challenged_run("etcd-postgres-unfenced", local_engine.name, tmp_path_factory.mktemp("unfenced"))


@pytest.fixture(scope="module")
def fenced_run(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Any]:
    """A run whose fence holds: exit code, verdict and folder."""
    folder = tmp_path_factory.mktemp("fenced")
    return challenged_run("etcd-postgres", local_engine.name, folder, PAST_LEASE_AND_REJECTED)


def challenged_run(
    target: str, engine: str, cwd: Path, was_challenged: Condition = ATTEMPTED, seconds: int = SHORT
) -> tuple[Any, Any, Any]:
    """Run it until it was challenged."""
    done = run_until_challenged(
        lambda duration: run_target(cwd, target, duration, engine=engine), seconds, was_challenged
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), (cwd / "runs" / target / "latest").resolve()


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


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
def test_an_unfenced_storage_in_a_container_accepts_one_too(tmp_path: Path) -> None:
    assert shows_the_expected_stale_write(*challenged_run("etcd-postgres-unfenced", "docker", tmp_path))


def test_a_fence_rejects_every_stale_write(fenced_run: tuple[Any, Any, Any]) -> None:
    code, verdict, _ = fenced_run

    assert shows_a_fence_that_held(code, verdict)


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
@pytest.mark.parametrize(
    "target",
    [
        "etcd-postgres-upsert",
        *nightly("etcd-postgres-inclusive", "etcd-postgres-select-for-update", "etcd-sqlite"),
    ],
)
def test_every_fence_rejects_every_stale_write(tmp_path: Path, target: Any) -> None:
    code, verdict, _ = challenged_run(target, "local", tmp_path, PAST_LEASE_AND_REJECTED)

    assert shows_a_fence_that_held(code, verdict)


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
@pytest.mark.timeout(900)  # versitygw may be built first
@pytest.mark.parametrize(
    "target", ["etcd-postgres", "zookeeper-zookeeper", "zookeeper-dynamodb", "s3-s3", "s3-s3-kill"]
)
def test_a_fence_rejects_every_stale_write_in_containers(tmp_path: Path, target: str) -> None:
    code, verdict, _ = challenged_run(target, "docker", tmp_path, counted("stale_writes_rejected"))

    assert (code, verdict["verdict"]) == (0, "valid")
    assert verdict["coverage"]["stale_writes_rejected"] >= 1


@pytest.mark.slow
def test_partitions_are_seen_and_healed_and_the_fence_holds(cutting_engine: str, tmp_path: Path) -> None:
    target = "etcd-postgres-partition"
    latest = tmp_path / "runs" / target / "latest"

    def was_challenged(verdict: dict[str, Any]) -> bool:
        return verdict["coverage"]["partitions"] >= 2 and some_outcome_is_unknown(latest)

    code, verdict, folder = challenged_run(target, cutting_engine, tmp_path, was_challenged, seconds=12)

    cuts = [
        each
        for each in json.loads((folder / "plan.json").read_text())["faults"]
        if each["kind"] == "partition"
    ]
    assert (code, verdict["verdict"]) == (0, "valid")
    assert verdict["coverage"]["partitions"] == len(cuts) >= 2
    assert all(each["requested"] < each["in_force"] < each["healed"] for each in cuts)
    assert some_outcome_is_unknown(folder)


def some_outcome_is_unknown(folder: Path) -> bool:
    return any(event["type"] == "info" and event["f"] != "partition" for event in events_of(folder))


def test_the_run_folder_has_the_files_for_other_tools(fenced_run: tuple[Any, Any, Any]) -> None:
    _, _, folder = fenced_run

    names = {path.name for path in folder.iterdir()}
    assert {
        "target.toml", "plan.json", "history.jsonl", "commits.jsonl", "verdict.json", "report.html",
        "junit.xml", "environment.json", "logs",
    } <= names  # fmt: skip
    header = json.loads((folder / "history.jsonl").read_text().splitlines()[0])
    assert header["seed"] == json.loads((folder / "plan.json").read_text())["seed"]
    assert header["initial"] == {"value": None, "token": -1}
    assert json.loads((folder / "environment.json").read_text())["order_of_writes"] == "commits.jsonl"
    assert all((folder / "logs" / f"{name}.log").exists() for name in ("etcd-1", "postgres", "client-0"))


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
def test_two_runs_can_run_at_the_same_time_in_containers(tmp_path: Path) -> None:
    """Those of campaigns do on the local engine."""
    words = run_words("etcd-postgres", engine="docker")

    def run_both(duration: str) -> CompletedProcess[str]:
        """Check both, and return the one that proves less."""
        processes = [start(*words, "--set", duration, cwd=tmp_path) for _ in range(2)]
        outputs = [process.communicate(timeout=DEADLINE) for process in processes]
        both = [
            CompletedProcess(words, process.returncode, *output)
            for process, output in zip(processes, outputs, strict=True)
        ]
        for done in both:
            assert proves_nothing(done) or (done.returncode, verdict_of(done)) == (0, "valid"), done.stderr
        return max(both, key=proves_nothing)

    done = run_until_challenged(run_both, SHORT)

    assert (done.returncode, verdict_of(done)) == (0, "valid"), done.stderr


def verdict_of(done: CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)["verdict"]


def test_a_recheck_agrees_and_keeps_the_history(unfenced_run: tuple[Any, Any, Any], tmp_path: Path) -> None:
    _, verdict, folder = unfenced_run
    recorded = (folder / "history.jsonl").read_bytes()

    done = fencepost(tmp_path, "recheck", folder, "--format", "json")

    again = json.loads(done.stdout)
    assert done.returncode == 0
    assert again["findings"] == verdict["findings"]
    assert again["coverage"] == verdict["coverage"]
    assert (folder / "history.jsonl").read_bytes() == recorded
