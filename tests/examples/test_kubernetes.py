"""The example of Kubernetes' leader election: its bugs are found, and its fence and its twins hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.core.exit_codes import ExitCode
from harness.engines.engine import Engine
from tests.support.challenged import repeated
from tests.support.command import fencepost, ran, run_target
from tests.support.missing import miss
from tests.support.repository import ROOT

# The API server and the library may be built first.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(2400), pytest.mark.usefixtures("docker_engine")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, docker_engine: Engine) -> Path:
    """The example, built."""
    assert docker_engine
    if not shutil.which("go"):
        miss("the example of Kubernetes needs Go")
    copy = tmp_path_factory.mktemp("go") / "kubernetes"
    shutil.copytree(ROOT / "examples/kubernetes", copy, ignore=shutil.ignore_patterns("runs"))
    built = ran(["go", "build"], cwd=copy, timeout=900)
    assert built.returncode == 0, built.stderr
    return copy


def verdict_of(folder: Path, target: str, seconds: int) -> Any:
    done = run_target(folder, target, f"workload.duration={seconds}s", engine="docker")
    assert done.returncode in {ExitCode.AS_EXPECTED, ExitCode.VIOLATION, ExitCode.UNKNOWN}, done.stderr
    return json.loads(done.stdout)


def test_the_program_follows_the_protocol(folder: Path) -> None:
    done = fencepost(
        folder,
        "check-client",
        "--engine=docker",
        "--lock=kubernetes",
        "--set=lock.ttl=3s",
        "--storage=postgres",
        "--fencing=conditional-update",
        "./kubernetes-lease",
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("everything fits\n")


@pytest.mark.parametrize(
    ("target", "seconds", "anomaly"),
    [
        ("release-first", 40, "stale-write"),
        ("lease-transitions", 10, "duplicate-token"),
        ("foreign-release", 25, "early-grant"),
    ],
)
def test_a_mistake_is_found(folder: Path, target: str, seconds: int, anomaly: str) -> None:
    document = repeated(
        lambda: verdict_of(folder, f"{target}.toml", seconds), lambda document: not document["as_expected"]
    )

    assert document["anomalies"][anomaly] >= 1
    assert document["as_expected"]


@pytest.mark.parametrize(
    ("target", "seconds"),
    [("fenced", 30), ("work-first", 30), ("deleted-lease", 20), ("foreign-release-guarded", 25)],
)
def test_what_is_right_is_valid(folder: Path, target: str, seconds: int) -> None:
    document = repeated(
        lambda: verdict_of(folder, f"{target}.toml", seconds),
        lambda document: document["verdict"] == "unknown",
    )

    assert document["verdict"] == "valid"
