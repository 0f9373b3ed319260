"""The example in Go: a published bug of etcd's client library is found, its fix and its fence hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.core.exit_codes import ExitCode
from harness.engines.engine import Engine
from harness.network.topology import ServerSpec, Topology
from tests.support.challenged import repeated
from tests.support.command import ran, run_target
from tests.support.missing import miss, need
from tests.support.repository import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]  # Go may download the library first


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, local_engine: Engine) -> Path:
    """The example, built."""
    etcd = ServerSpec(name="etcd-1", system="etcd")
    need(local_engine, Topology(servers=(etcd,), clients=1, partitions=True))
    if not shutil.which("go"):
        miss("the example of etcd's Mutex needs Go")
    copy = shutil.copytree(ROOT / "examples" / "etcd-mutex", tmp_path_factory.mktemp("go") / "etcd-mutex")
    built = ran(["go", "build"], cwd=copy, timeout=500)
    assert built.returncode == 0, built.stderr
    return copy


def verdict_of(folder: Path, target: str, seconds: int = 20) -> Any:
    done = run_target(folder, target, f"workload.duration={seconds}s")
    assert done.returncode in {ExitCode.AS_EXPECTED, ExitCode.VIOLATION, ExitCode.UNKNOWN}, done.stderr
    return json.loads(done.stdout)


def test_a_repeated_unlock_deletes_the_next_lock_of_its_session(folder: Path) -> None:
    document = repeated(
        lambda: verdict_of(folder, "unlock-repeated.toml"), lambda document: document["verdict"] == "valid"
    )

    assert document["anomalies"]["early-grant"] >= 1
    assert any("never learned its outcome" in step for each in document["findings"] for step in each["steps"])


def test_a_guarded_unlock_deletes_no_other_lock(folder: Path) -> None:
    document = verdict_of(folder, "unlock-guarded.toml")

    assert document["verdict"] == "valid"
    assert document["coverage"]["partitions"] >= 3


def test_a_write_that_checks_the_owner_is_never_stale(folder: Path) -> None:
    document = repeated(
        lambda: verdict_of(folder, "owner-checked.toml", seconds=8),
        lambda document: document["verdict"] == "unknown",
    )

    assert document["verdict"] == "valid"
    assert document["coverage"]["stale_writes_rejected"] >= 1
