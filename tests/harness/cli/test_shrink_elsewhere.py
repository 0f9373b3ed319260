"""`fencepost shrink` in another folder than the run's, and with runs that cannot be made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.command import fencepost, refused
from tests.support.repository import ROOT

Unpack = Callable[[str], Path]
CLASS = """\
name = "mine"
expect = "valid"
lock = { kind = "mine:FileLock", token = "x", ttl = "1s" }
storage = { kind = "mine:FileStorage", fencing = "x" }
workload = { clients = 2, duration = "1s" }
require = { stale_writes_attempted = 0 }
"""
PROGRAM = """\
name = "mine"
expect = "valid"
client = { command = ["python3", "mine.py", "file.db"] }
lock = { kind = "client", ttl = "1s" }
storage = { kind = "client", fencing = "x" }
workload = { clients = 2, duration = "1s" }
require = { stale_writes_attempted = 0 }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder in which the run was made, and its code is."""
    project = tmp_path / "project"
    (project / "modules").mkdir(parents=True)
    return project


@pytest.fixture
def run(recorded_run: Unpack, project: Path) -> Path:
    """A run with a violation."""
    run = recorded_run("uuid-token")
    environment = json.loads((run / "environment.json").read_text())
    (run / "environment.json").write_text(json.dumps(environment | {"folder": str(project)}))
    return run


def shrunk(run: Path, *options: str, **environment: str) -> CompletedProcess[str]:
    elsewhere = run.parent / "elsewhere"
    elsewhere.mkdir()
    words = ("shrink", "--engine", "local", "--trust", "--repeat", "1", "--max-time", "5s", *options, run)
    state = {name: str(elsewhere) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return fencepost(elsewhere, *words, **state, **environment)


def was_judged(run: Path) -> bool:
    return any(run.glob("minimal-runs/*/*/verdict.json"))


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param(CLASS, "examples/own-class/files.py", id="class", marks=pytest.mark.slow),
        pytest.param(PROGRAM, "tests/support/line_program.py", id="program", marks=pytest.mark.slow),
    ],
)
def test_code_is_found_where_the_run_found_it(run: Path, project: Path, target: str, code: str) -> None:
    (run / "target.toml").write_text(target)
    (project / "mine.py").write_text((ROOT / code).read_text())

    done = shrunk(run)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    assert was_judged(run)


@pytest.mark.slow
def test_a_class_is_found_on_the_pythonpath_of_the_run(run: Path, project: Path) -> None:
    (run / "target.toml").write_text(CLASS)
    (project / "modules/mine.py").write_text((ROOT / "examples/own-class/files.py").read_text())
    recorded = json.loads((run / "environment.json").read_text())
    found_in = os.pathsep.join(["modules", str(ROOT)])
    (run / "environment.json").write_text(json.dumps(recorded | {"pythonpath": found_in}))

    done = shrunk(run)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    assert was_judged(run)


@pytest.mark.slow
def test_without_the_folder_of_the_run_code_is_found_here(run: Path, project: Path) -> None:
    (run / "target.toml").write_text(PROGRAM)
    (project / "modules").rmdir()
    project.rmdir()

    done = shrunk(run)

    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert f"{run.parent / 'elsewhere'}/mine.py" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "code"),
    [(PROGRAM, ExitCode.INFRASTRUCTURE), (CLASS, ExitCode.CONFIGURATION)],
    ids=["program", "class"],
)
def test_a_run_that_cannot_start_ends_the_shrinking(run: Path, target: str, code: ExitCode) -> None:
    (run / "target.toml").write_text(target)

    done = shrunk(run)

    assert done.returncode == code, done.stdout + done.stderr
    assert "not enough" not in done.stdout
    assert "mine" in done.stderr
    assert len([folder for folder in run.glob("minimal-runs/mine/*") if not folder.is_symlink()]) <= 1


def test_code_in_the_folder_of_a_received_run_is_asked_about(run: Path, project: Path) -> None:
    (run / "target.toml").write_text(PROGRAM)

    done = refused(run.parent, "shrink", run)

    assert done.returncode == ExitCode.CONFIGURATION
    assert f'\n  in the folder: "{project}"\n' in done.stderr
    assert not (run / "minimal-runs").exists()
