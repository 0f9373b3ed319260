"""Unprivileged servers: their user if the harness is root, and files that only they can read.

Every user of the machine can connect to a server. So none runs as root, and its password is
in a private file and in no command line.
"""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

READ, ENTER = 0o004, 0o001  # of others; to enter a file is to execute it


def unprivileged_user() -> int | None:
    """Return the user for servers if the harness is root; None: the harness' own user."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def own_folder(folder: Path, user: int | None) -> Path:
    """Create a folder that only this user can enter."""
    folder.mkdir(mode=0o700)
    if user is not None:
        os.chown(folder, user, -1)
    return folder


def own_file(file: Path, text: str, user: int | None) -> Path:
    """Create a file that only this user can read; FileExistsError if the path exists."""
    made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(made, "w", encoding="utf-8") as opened:
        opened.write(text)
        if user is not None:
            os.fchown(made, user, -1)
    return file


def program_for(program: Path, user: int | None, home: Path) -> Path:
    """Return a program, or a library of one, that this user can reach: a copy in `home` if it cannot."""
    if user is None or others_can_reach(program):
        return program
    copies = home / "programs"
    copies.mkdir(exist_ok=True)
    copies.chmod(0o755)  # not left to the umask
    copy = copies / program.name
    if not copy.exists():
        shutil.copyfile(program, copy)
        copy.chmod(0o755)
    return copy


def others_can_reach(path: Path) -> bool:
    """Can any user read this, execute or enter it if its owner can, and traverse all its parent folders?

    A link may be in one folder, and what it leads to in another.
    """
    inside = path.resolve()
    mode = inside.stat().st_mode
    needed = READ | (mode >> 6 & ENTER)
    outside = {*path.absolute().parents, *inside.parents}
    return mode & needed == needed and all(outer.stat().st_mode & ENTER for outer in outside)
