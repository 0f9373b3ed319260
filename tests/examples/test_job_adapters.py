"""The adapters of `examples/jobs` follow the line protocol on real servers."""

from __future__ import annotations

import json
import shutil
import venv
from pathlib import Path

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.command import fencepost, ran, run_target
from tests.support.missing import miss
from tests.support.repository import ROOT

GO = ROOT / "examples/jobs/go"
NODE = ROOT / "examples/jobs/node"
PYTHON = ROOT / "examples/jobs/python"

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]  # npm may download libraries first


def assert_fits(folder: Path, lock: str, command: str, *options: str) -> None:
    done = fencepost(
        folder, "check-client", "--engine=local", "--side=queue", f"--lock={lock}", *options, command
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("everything fits\n")


@pytest.fixture(scope="module")
def node() -> Path:
    """The adapters in Node, with their libraries."""
    if not shutil.which("npm"):
        miss("the adapters in Node need npm")
    installed = ran(["npm", "install", "--no-package-lock"], cwd=NODE, timeout=500)
    assert installed.returncode == 0, installed.stderr
    return NODE


@pytest.mark.parametrize(("lock", "adapter"), [("redis", "bullmq.mjs"), ("postgres", "pg_boss.mjs")])
def test_an_adapter_in_node_follows_the_protocol(node: Path, lock: str, adapter: str) -> None:
    assert_fits(node, lock, f"node {adapter}")


@pytest.mark.parametrize(
    ("target", "loses"), [("bullmq-in-memory.toml", True), ("bullmq-on-disk.toml", False)]
)
def test_a_killed_redis_loses_the_jobs_that_it_kept_in_memory(
    node: Path, target: str, *, loses: bool
) -> None:
    done = run_target(node, target)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert (document["anomalies"]["lost-run"] > 0, document["coverage"]["kills"]) == (loses, 1)


@pytest.mark.parametrize(
    ("library", "lock", "adapter"),
    [
        ("a5", "postgres", "apscheduler_jobs.py"),
        ("a6", "postgres", "apscheduler_jobs.py"),
        ("redbeat", "redis", "redbeat_jobs.py"),
    ],
)
def test_an_adapter_in_python_follows_the_protocol(
    library: str, lock: str, adapter: str, tmp_path: Path
) -> None:
    venv.create(tmp_path, with_pip=True)
    requirements = PYTHON / f"requirements-{library}.txt"
    installed = ran([str(tmp_path / "bin/pip"), "install", "-r", str(requirements)], timeout=500)
    assert installed.returncode == 0, installed.stderr

    assert_fits(PYTHON, lock, f"{tmp_path}/bin/python {adapter}", "--set=lock.ttl=3s")


def test_the_adapter_of_river_follows_the_protocol(tmp_path: Path) -> None:
    if not shutil.which("go"):
        miss("the adapter of River needs Go")
    program = tmp_path / "river-jobs"
    built = ran(["go", "build", "-o", str(program), "."], cwd=GO, timeout=500)
    assert built.returncode == 0, built.stderr

    assert_fits(GO, "postgres", str(program), "--set=lock.ttl=5s")
