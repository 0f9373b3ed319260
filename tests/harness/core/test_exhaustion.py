"""A full disk and too few file descriptors: one sentence that names the file or the limit, and exit code 3."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.core import exhaustion
from harness.core.errors import ResourceExhaustedError
from harness.engines.engine import Engine
from tests.support.command import fencepost
from tests.support.repository import ROOT
from tests.support.simulation import Simulation

TARGET = "etcd-sqlite"
SHORT = ("--set", "lock.nodes=1", "--set", "workload.duration=20s")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Any]:
    """Return a function that mounts a disk of a given size, and returns its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted: list[Any] = []

    def mount(size: Any) -> Path:
        options = f"remount,size={size}" if mounted else f"size={size}"
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no disk can be mounted here")
        mounted.append(size)
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def recheck(folder: Path, limit: int | None = None, number: int = 0) -> tuple[CompletedProcess[Any], Any]:
    """Run it as a separate process, under a limit."""
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", "recheck", "--format", "json", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=None if limit is None else partial(resource.setrlimit, limit, (number, number)),
    )
    return done, done.stderr.strip().splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    (made / "events").mkdir(parents=True)
    (made / "history.jsonl").write_text("".join(Simulation(seed=1).lines()))
    return made


@pytest.mark.slow
def test_a_full_disk_ends_a_run_that_can_be_judged(local_engine: Engine, disk: Any, tmp_path: Path) -> None:
    runs = disk("200k")

    done = fencepost(tmp_path, "run", "--engine", local_engine.name, "--runs", str(runs), *SHORT, TARGET)

    assert done.returncode == 3, done.stderr
    said = done.stderr
    assert re.search(rf"{runs}/\S+ cannot be written: the disk is full; free some space", said), done.stderr
    assert "Traceback" not in done.stderr
    (run,) = (path for path in (runs / TARGET).iterdir() if not path.is_symlink())
    assert f"judge it     fencepost recheck {run.relative_to(tmp_path)}" in said

    disk("4m")
    judged, _ = recheck(run)
    document = json.loads(judged.stdout)
    assert document["verdict"] in {"valid", "unknown"}
    assert document["coverage"]["grants"] > 0


@pytest.mark.slow
def test_a_report_that_does_not_fit_on_the_disk_keeps_the_verdict(folder: Path) -> None:
    """A file size limit acts as the full disk: only the report exceeds it."""
    shutil.rmtree(folder / "events")
    done, said = recheck(folder, resource.RLIMIT_FSIZE, 64 * 1024)

    assert json.loads(done.stdout)["verdict"] in {"valid", "invalid", "unknown"}
    assert said[-1] == (
        f"{folder}/report.html cannot be written: it reached the limit for the size of a file;"
        " raise it: ulimit -f unlimited"
    )
    assert done.returncode in {1, 3}
    assert not list(folder.glob(".fencepost-*"))


@pytest.mark.slow
def test_a_merge_that_fails_on_a_full_disk_succeeds_later(disk: Any) -> None:
    full = disk("8k")
    lines = Simulation(seed=1).lines()
    run = full / "run"
    (run / "events").mkdir(parents=True)
    header, *events = lines
    (run / "header.json").write_text(header.rstrip())
    (run / "events" / "client-0.jsonl").write_text("".join(events)[:4096])

    done, said = recheck(run)
    assert done.returncode == 3
    assert said == [f"{run}/history.jsonl cannot be written: the disk is full; free some space"]

    disk("4m")
    assert recheck(run)[0].returncode in {0, 1, 2}


@pytest.mark.slow
def test_a_run_that_needs_too_many_descriptors_does_not_start(tmp_path: Path) -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "from harness.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "--engine", "local", TARGET],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1
    assert "too few file descriptors: the limit is 64; raise it, for example: ulimit -n 4096" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_low_limit_is_raised_if_allowed() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 2000))\n"
        "from harness.core.exhaustion import provide_descriptors as provide\n"
        "provide(500); print(resource.getrlimit(resource.RLIMIT_NOFILE))\n"
        "provide(100); print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "(500, 2000)\n(500, 2000)\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError(28, "No space left on device", "/a"),
            "/a cannot be written: the disk is full; free some space",
        ),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (OSError(23, "Too many open files in system"), "this machine has reached its limit of open files"),
        (OSError(24, "Too many open files", "/a"), "too few file descriptors: the limit is"),
        (
            OSError(122, "Disk quota exceeded", "/a"),
            "/a cannot be written: this user's disk quota is used up",
        ),
    ],
)
def test_exhaustion_is_described_in_a_sentence(error: OSError, sentence: str) -> None:
    assert exhaustion.sentence(error).startswith(sentence)


def test_other_errors_are_not_exhaustion() -> None:
    assert exhaustion.as_exhausted(OSError(13, "Permission denied"), "/a") is None
    assert isinstance(exhaustion.as_exhausted(OSError(28, "full"), "/a"), ResourceExhaustedError)
