"""Published bugs: the affected release shows each, and the fixed one does not."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.spec import load
from harness.spec.reading import in_folder, shipped_folder
from tests.support.challenged import repeated, run_until_challenged
from tests.support.command import run_target
from tests.support.repository import ROOT

FIXED = "-fixed"
FILES = in_folder(shipped_folder() / "history")
BUGS = [name for name in FILES if not name.endswith(FIXED)]
QUICK = [name for name in FILES if not name.startswith("etcd-stale-read-index")]
"""Those whose releases need not be built for this test alone, which takes minutes."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_known_bug_has_a_fixed_release_and_a_row(bug: str) -> None:
    affected, fixed = load(FILES[bug]), load(FILES[bug + FIXED])

    assert affected.expected
    assert not fixed.expected
    assert affected.faults == fixed.faults
    page = (ROOT / "docs" / "known-bugs.md").read_text(encoding="utf-8")
    assert f"(../targets/history/{bug}.toml)" in page
    assert f"(../targets/history/{bug}{FIXED}.toml)" in page


@pytest.mark.nightly
@pytest.mark.timeout(900)  # a release may be built first
@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize("name", QUICK)
def test_a_known_bug_is_found_where_it_is_and_only_there(name: str, tmp_path: Path) -> None:
    def run(duration: str) -> CompletedProcess[str]:
        return run_target(tmp_path, FILES[name], duration, engine="docker")

    if name.endswith(FIXED):
        done = run_until_challenged(run, seconds=10)
    else:
        done = repeated(lambda: run("workload.duration=20s"), found_nothing)

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["verdict"] == ("valid" if name.endswith(FIXED) else "invalid")


def found_nothing(done: CompletedProcess[str]) -> bool:
    """Did a run miss a bug that not every run meets?"""
    return bool(done.stdout) and json.loads(done.stdout)["verdict"] != "invalid"
