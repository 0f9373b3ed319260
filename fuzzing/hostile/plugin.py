"""A recorded run as the failed test of a project: what pytest prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fuzzing.hostile.outputs import captured
from fuzzing.surfaces import ROOT
from harness.core.events import RunJudged
from harness.run.recheck import judge_folder

_OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist", "--fencepost", "--fencepost-engine", "local", "-c")


def failed_test(folder: Path) -> str:
    """Run pytest on a target whose run is that in a folder."""
    project, run = Path("project"), folder.absolute()
    project.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n")
    target = (ROOT / "targets" / "etcd-postgres.toml").read_text(encoding="utf-8")
    (project / "t.toml").write_text(target, encoding="utf-8")

    def recorded(*_: Any) -> RunJudged:
        judged = judge_folder(run)
        return RunJudged(
            folder=run,
            verdict=judged.verdict,
            document=judged.document,
            history=judged.history,
            report=run / "report.html",
        )

    with patch("harness.pytest_plugin.runs.to_verdict", recorded):
        return captured(
            lambda: pytest.main([*_OPTIONS, str(project / "pytest.ini"), str(project / "t.toml")])
        )
