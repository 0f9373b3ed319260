"""`fencepost campaign` with `shrink`: a new failure becomes a small target that still fails."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from harness.campaign import corpus
from harness.core.exit_codes import ExitCode
from tests.support.command import fencepost
from tests.support.repository import ROOT

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

pytestmark = [pytest.mark.engine, pytest.mark.nightly, pytest.mark.timeout(900)]


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
