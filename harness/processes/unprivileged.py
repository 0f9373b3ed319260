"""The user of servers if the harness is root, and what that user can reach.

Every user of the machine can connect to a server. So none runs as root, and its password is
in a private file and in no command line.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

READ, ENTER = 0o004, 0o001  # of others; to enter a file is to execute it


def unprivileged_user() -> int | None:
    """Return the user for servers if the harness is root; None: the harness' own user."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def others_can_reach(path: Path) -> bool:
    """Can any user read this, execute or enter it if its owner can, and traverse all its parent folders?

    A link may be in one folder, and what it leads to in another.
    """
    inside = path.resolve()
    mode = inside.stat().st_mode
    needed = READ | (mode >> 6 & ENTER)
    outside = {*path.absolute().parents, *inside.parents}
    return mode & needed == needed and all(outer.stat().st_mode & ENTER for outer in outside)
