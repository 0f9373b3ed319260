"""The example with SlateDB: a fenced writer's put is lost in one release, and refused in the next."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.challenged import repeated
from tests.support.command import fencepost, ran, run_target
from tests.support.repository import ROOT
from tools.known_bugs import BUGS

pytestmark = [
    pytest.mark.engine,
    pytest.mark.nightly,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("docker_engine"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, with both releases of SlateDB."""
    bug, copy = BUGS["slatedb-late-put"], tmp_path_factory.mktemp("slatedb") / "slatedb"
    shutil.copytree((ROOT / bug.affected).parent, copy, ignore=shutil.ignore_patterns(".venv", "runs"))
    for command in bug.build:
        installed = ran(command.split(), cwd=copy, timeout=300)
        assert installed.returncode == 0, installed.stderr
    return copy


def verdict_of(folder: Path, target: str, until: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
    """Run a target until its run shows something."""

    def run() -> Any:
        done = run_target(folder, target, engine="docker")
        assert done.returncode in {ExitCode.AS_EXPECTED, ExitCode.VIOLATION, ExitCode.UNKNOWN}, done.stderr
        return json.loads(done.stdout)

    document: Mapping[str, Any] = repeated(run, lambda document: not until(document))
    return document


def test_a_put_after_the_fence_was_deleted_is_lost(folder: Path) -> None:
    document = verdict_of(folder, "late-put.toml", lambda document: document["verdict"] == "invalid")

    assert document["as_expected"]
    lost = next(each for each in document["findings"] if each["anomaly"] == "lost-write")
    assert "was paused from" in lost["story"][1]


@pytest.mark.parametrize("target", ["late-put-fixed.toml", "fenced.toml"])
def test_a_release_that_keeps_its_fences_refuses_stale_puts(folder: Path, target: str) -> None:
    document = verdict_of(folder, target, lambda document: document["verdict"] != "unknown")

    assert document["verdict"] == "valid"
    assert document["coverage"]["stale_writes_rejected"] >= 1


def test_the_lock_of_the_program_follows_the_protocol(folder: Path) -> None:
    program = ".venv/0.14.1/bin/python writer.py"

    done = fencepost(folder, "check-client", "--side=lock", "--lock=s3", program)

    assert done.returncode == 0, done.stdout
