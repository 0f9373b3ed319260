"""The command in an empty folder, and recorded histories for it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import DEADLINE, FENCEPOST, warm
from tests.support.repository import ROOT

HEADER = {"fencepost": 1, "target": "t", "seed": 7, "fenced": True, "policy": "strict", "ttl": 2_000_000_000}


@pytest.fixture
def fencepost(tmp_path: Path) -> Any:
    """Call the command as a user would, in an empty folder."""

    def call(*arguments: Any, **options: Any) -> Any:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}
        if not options:
            return warm([str(each) for each in arguments], tmp_path, environment, DEADLINE)
        return subprocess.run(
            [*FENCEPOST, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
            **options,
        )

    return call


@pytest.fixture
def history(tmp_path: Path) -> Any:
    def save(events: Any, **header: Any) -> str:
        file = tmp_path / "history.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in [HEADER | header, *events]))
        return str(file)

    return save
