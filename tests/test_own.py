"""Classes of the user's own as lock and storage: loaded, run, and refused where they do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command import run_target

EXAMPLE = Path(__file__).parents[1] / "examples/own-class"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "own-class")
    return tmp_path / "own-class"


def run(folder, *settings):
    return run_target(folder, "files.toml", "workload.duration=7s", *settings)


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [((), "valid"), (("storage.fencing=none", 'expect=["stale-write"]'), "invalid")],
)
def test_the_example_is_run_and_judged(folder, settings, verdict):
    done = run(folder, *settings)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == verdict
    assert document["coverage"]["stale_writes_attempted"] >= 1
    assert {"committed", "observed"} == {each["evidence"] for each in document["checkers"]}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("lock.kind=nowhere:Lock", "files: nowhere:Lock cannot be loaded: ModuleNotFoundError"),
        ("lock.kind=files:Nothing", "files: files:Nothing cannot be loaded: AttributeError"),
        ("lock.kind=files:FileStorage", "files:FileStorage has no acquire, no release, no revoke, no close"),
        ("storage.kind=files:FileLock", "files:FileLock has no write, no read"),
        ("storage.kind=files:", 'storage.kind = "files:": must be "package.module:Class"'),
        ("lock.nodes=3", "nodes and image are of the servers that Fencepost starts: give server too"),
    ],
)
def test_a_class_that_does_not_fit_is_refused_in_one_sentence(folder, setting, said):
    done = run(folder, setting)

    assert done.returncode == 4
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_class_may_hand_on_what_it_lacks_to_another(folder):
    handing_on = """
from files import FileLock

class Around:
    def __init__(self, settings, renewals):
        self._lock = FileLock(settings, renewals)

    def acquire(self, resource, owner):
        return self._lock.acquire(resource, owner)

    def __getattr__(self, name):
        return getattr(self._lock, name)
"""
    (folder / "around.py").write_text(handing_on)

    done = run(folder, "lock.kind=around:Around")

    assert done.returncode == 0, done.stderr
