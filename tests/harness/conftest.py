"""Another user of the machine."""

from __future__ import annotations

import os
import pwd

import pytest


@pytest.fixture
def other_user() -> int:
    """A user that is not ours; the test skips where we cannot become it."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    return pwd.getpwnam("nobody").pw_uid
