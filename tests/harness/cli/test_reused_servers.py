"""Campaigns whose runs share servers, with the same verdicts as without, or are shrunk."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.campaign import corpus
from harness.core.exit_codes import ExitCode
from harness.network.topology import Topology
from harness.run import deployment
from harness.spec import load
from tests.support.challenged import durations, repeated
from tests.support.command import fencepost, started_campaign
from tests.support.held import processes_of, wait_until
from tests.support.missing import need
from tests.support.repository import ROOT
from tests.support.target_files import SUPERSEDED, target_text

pytestmark = pytest.mark.engine

CAMPAIGN = """
name = "shared"
canary = false
seeds = {seeds}
set = {settings}
reuse = {reuse}

[[cells]]
targets = {targets}
"""
KILLED = target_text(
    '[[faults]]\nkind = "kill"\ntarget = "storage"\nevery = "4s"\nlasts = "500ms"',
    SUPERSEDED,
    lock='kind = "redis"',
)
PAIRS = [("local", "etcd-postgres"), ("docker", "zookeeper-dynamodb")]


def topology(name: str) -> Topology:
    target = load(name)
    return deployment.topology(target, target.faults)


def write(
    folder: Path,
    *targets: str,
    reuse: bool,
    seeds: int = 2,
    settings: Sequence[str] = (),
    duration: str = "workload.duration=10s",
) -> Path:
    file = folder / "shared.toml"
    text = CAMPAIGN.format(
        reuse=str(reuse).lower(),
        targets=json.dumps(targets),
        seeds=[*range(1, seeds + 1)],
        settings=json.dumps([duration, *settings]),
    )
    file.write_text(text)
    return file


def outcomes(
    folder: Path, engine: str, *targets: str, reuse: bool, seeds: int = 2, settings: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Run a campaign, one run after another; return the verdict of each run, by cell."""

    def campaign(duration: str) -> CompletedProcess[str]:
        file = write(folder, *targets, reuse=reuse, seeds=seeds, settings=settings, duration=duration)
        return fencepost(folder, "campaign", "--engine", engine, "--workers", "1", file)

    longer = durations(10)
    done = repeated(lambda: campaign(next(longer)), lambda done: done.returncode == ExitCode.UNKNOWN)
    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    document = json.loads((night(folder) / "campaign.json").read_text())
    return {cell["name"]: [run["outcome"] for run in cell["runs"]] for cell in document["cells"]}


def night(folder: Path) -> Path:
    return (folder / "nights/shared/latest").resolve()


def recorded(folder: Path) -> list[tuple[Path, Any]]:
    """Return the runs of a night in their order, each with what it says of earlier runs on its servers."""
    files = (night(folder) / "runs").glob("*/2*/environment.json")
    runs = {file.parent: json.loads(file.read_text()) for file in files}
    ordered = sorted(runs, key=lambda run: (runs[run]["began"], run.name))
    return [(run, runs[run].get("earlier_runs_on_these_servers")) for run in ordered]


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("engine", "fenced"), PAIRS)
def test_verdicts_are_the_same_on_servers_of_earlier_runs(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, fenced: str
) -> None:
    need(request.getfixturevalue(f"{engine}_engine"), topology(fenced))
    both = (fenced, f"{fenced}-unfenced")

    shared = outcomes(tmp_path, engine, *both, reuse=True, seeds=1)
    runs = recorded(tmp_path)
    own = outcomes(tmp_path, engine, *both, reuse=False, seeds=1)

    assert shared == own
    assert [earlier for _, earlier in runs] == [0, 1]
    assert [earlier for _, earlier in recorded(tmp_path)] == [None] * 2
    for run, _ in runs:
        expect_own_writes(run)
    assert not (night(tmp_path) / "servers").exists()


def expect_own_writes(run: Path) -> None:
    """Expect each value of the storage's order once, though every run writes some such as 1-1.0."""
    values = committed(run)
    assert len(set(values)) == len(values) > 0
    assert set(values) <= attempted(run)


def committed(run: Path) -> list[str]:
    """Return the values in the storage's order of a run's writes."""
    lines = map(json.loads, (run / "commits.jsonl").read_text().splitlines())
    return [line["value"] for line in lines if not line.get("fence")]


def attempted(run: Path) -> set[str]:
    """Return the values that the clients of a run tried to write."""
    _, *lines = map(json.loads, (run / "history.jsonl").read_text().splitlines())
    return {line["value"] for line in lines if line.get("f") == "write" and "value" in line}


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_a_run_with_a_kill_does_not_hand_its_servers_on(tmp_path: Path) -> None:
    (tmp_path / "killed.toml").write_text(KILLED)

    once = ["require.stale_writes_attempted=0"]  # whatever happens, the runs are not repeated
    outcomes(tmp_path, "local", "redis-postgres", "killed.toml", reuse=True, settings=once)

    earlier = [(run.parent.name, each) for run, each in recorded(tmp_path)]
    assert earlier == 2 * [("redis-postgres", 0), ("t", None)]


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_a_killed_campaign_leaves_no_servers(tmp_path: Path) -> None:
    file = write(tmp_path, "redis-redis", "redis-redis-unfenced", reuse=True)
    with started_campaign(tmp_path, file, "--workers", "2") as process:
        results = night(tmp_path) / "results.jsonl"
        wait_until(lambda: results.exists() and b"\n" in results.read_bytes())
        shared = [each.name for each in (night(tmp_path) / "servers").glob("2*")]
        process.kill()
        wait_until(lambda: process.poll() is not None)
    wait_until(lambda: not any(map(processes_of, shared)))

    done = fencepost(tmp_path, "campaign", "--engine", "local", "--resume", file)

    assert shared
    assert done.returncode in {ExitCode.AS_EXPECTED, ExitCode.UNKNOWN}, done.stdout + done.stderr
    document = json.loads((night(tmp_path) / "campaign.json").read_text())
    assert sorted(run["seed"] for cell in document["cells"] for run in cell["runs"]) == [1, 1, 2, 2]
    assert not (night(tmp_path) / "servers").exists()


BUDGET = 200  # s
SOURCE = f"""
name = "nightly"
canary = false
budget = "{BUDGET}s"
corpus = "corpus"
shrink = "80s"
set = ["workload.duration=6s"]
[[cells]]
targets = ["mine.toml"]
"""


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_new_failure_is_shrunk_and_kept_in_the_corpus(tmp_path: Path) -> None:
    unfenced = (ROOT / "targets/redis-sqlite-unfenced.toml").read_text()
    (tmp_path / "mine.toml").write_text(unfenced.replace('expect = ["stale-write"]', 'expect = "valid"'))
    (tmp_path / "nightly.toml").write_text(SOURCE)

    began = time.monotonic()
    done = fencepost(tmp_path, "campaign", "--engine", "local", "--history", "nights.db", "nightly.toml")

    assert done.returncode == ExitCode.VIOLATION, done.stderr
    assert time.monotonic() - began < BUDGET + 30  # it starts, and writes its pages
    assert "operations, 2 clients and 1 fault. The smallest target that still fails has " in done.stdout
    night = next((tmp_path / "nights/nightly").glob("latest"))
    (run,) = json.loads((night / "campaign.json").read_text())["cells"][0]["runs"]
    assert "This finding needs only 4 of " in run["shrunk"]
    for name in ("minimal.jsonl", "minimal.toml", "minimal-plan.json"):
        assert (night / run["folder"] / name).is_file()
        assert f">{name}</a>" in (night / "index.html").read_text()
    (entry,) = corpus.entries(tmp_path / "corpus")
    assert (entry / "minimal.toml.xz").is_file()
