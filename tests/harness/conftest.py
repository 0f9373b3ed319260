"""Another user of the machine, and a folder for client processes."""

import os
import pwd
from pathlib import Path

import pytest


@pytest.fixture
def other_user() -> int:
    """A user that is not ours; the test skips where we cannot become it."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    return pwd.getpwnam("nobody").pw_uid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where clients log and record, as a run has it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "events").mkdir()
    return tmp_path
