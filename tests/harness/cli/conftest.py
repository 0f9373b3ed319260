"""The command in an empty folder, and recorded histories for it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.command import DEADLINE, warm
from tests.support.repository import ROOT

HEADER = {"fencepost": 1, "target": "t", "seed": 7, "fenced": True, "policy": "strict", "ttl": 2_000_000_000}


@pytest.fixture
def fencepost(tmp_path: Path) -> Any:
    """Call the command as a user would, in an empty folder."""

    def call(*arguments: Any) -> Any:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}
        return warm([str(each) for each in arguments], tmp_path, environment, DEADLINE)

    return call


@pytest.fixture
def refusal(fencepost: Any) -> Any:
    """Call a command that is refused as wrong configuration, and return its words."""

    def call(*arguments: Any) -> str:
        done = fencepost(*arguments)
        assert done.returncode == ExitCode.CONFIGURATION, done.stdout + done.stderr
        return str(done.stderr)

    return call


@pytest.fixture
def history(tmp_path: Path) -> Any:
    def save(events: Any, **header: Any) -> str:
        file = tmp_path / "history.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in [HEADER | header, *events]))
        return str(file)

    return save
