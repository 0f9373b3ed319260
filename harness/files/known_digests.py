"""Digests that this machine keeps: of what the user has run, and of the pages that Fencepost wrote.

Each is the name of an empty file in a folder of the user's state folder, so that processes can add some at
the same time. The oldest are removed; what they stood for is asked about or drawn again.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import os
import stat
from functools import partial
from pathlib import Path

from harness.files import private_folder
from harness.files.private_folder import UnsafeFolderError
from harness.files.user_folders import NoStateFolderError, state_folders, writable_state_folder

MOST = 4_096  # of each kind
_NEW = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class KnownDigest(enum.StrEnum):
    """What a digest stands for, and the name of its folder."""

    TRUSTED = "trusted"  # everything that a target executes
    PAGES = "pages"  # a report


def remember_page(html: str) -> None:
    """Keep that Fencepost wrote this page here; what is in its file by now may be somebody else's."""
    remember(KnownDigest.PAGES, hashlib.sha256(html.encode()).hexdigest())


def remember(kind: KnownDigest, digest: str) -> None:
    """Keep a digest (hexadecimal), unless nothing can be kept: without a state folder, or on a full disk."""
    with contextlib.suppress(OSError, UnsafeFolderError, NoStateFolderError):
        folder = writable_state_folder() / kind
        private_folder.make(folder)
        with private_folder.opened(folder) as descriptor:
            os.close(os.open(digest, _NEW, 0o600, dir_fd=descriptor))
            os.utime(digest, dir_fd=descriptor, follow_symlinks=False)
            names = os.listdir(descriptor)  # noqa: PTH208 (a descriptor)
            if len(names) > MOST:
                status = partial(os.stat, dir_fd=descriptor, follow_symlinks=False)
                for name in sorted(names, key=lambda each: status(each).st_mtime_ns)[:-MOST]:
                    os.unlink(name, dir_fd=descriptor)


def is_known(kind: KnownDigest, digest: str) -> bool:
    """Was this digest kept, by this user?"""
    return any(_has(state / kind, digest) for state in state_folders())


def _has(folder: Path, digest: str) -> bool:
    try:
        with private_folder.opened(folder.parent), private_folder.opened(folder) as descriptor:
            found = os.stat(digest, dir_fd=descriptor, follow_symlinks=False)
    except (OSError, UnsafeFolderError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
