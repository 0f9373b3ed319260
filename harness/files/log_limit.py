"""The size limit of a run's logs: a client that writes gigabytes neither fills the disk nor blocks.

Processes append to their logs and do not know the limit. So a thread polls the files and truncates
them; later output is appended, and truncated again.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MOST = 16 * 2**20  # bytes of one log
CUT = f"\n[fencepost has cut this log here: more than {MOST >> 20} MiB were written]\n".encode()
_POLL = 0.05  # seconds; the fastest writers manage about 100 MB in that time


@contextmanager
def limited(folder: Path) -> Iterator[set[str]]:
    """Keep every log in a folder within the limit; yield a set that collects the names of cut logs."""
    ended = threading.Event()
    cut: set[str] = set()

    def look() -> None:
        for name in _too_long(folder):
            with suppress(OSError):
                _cut(folder / name)
            cut.add(name)

    def watch() -> None:
        while not ended.wait(_POLL):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield cut
    finally:
        ended.set()
        watcher.join()
        look()


def shortened(log: bytes) -> bytes:
    """Return a log, cut to the limit with a note if it is too long."""
    return log if len(log) <= MOST + len(CUT) else log[:MOST] + CUT


def _too_long(folder: Path) -> list[str]:
    with suppress(OSError), os.scandir(folder) as found:
        return [each.name for each in found if _size(each) > MOST + len(CUT)]
    return []


def _size(entry: os.DirEntry[str]) -> int:
    with suppress(OSError):
        status = entry.stat(follow_symlinks=False)
        return status.st_size if stat.S_ISREG(status.st_mode) else 0
    return 0


def _cut(log: Path) -> None:
    opened = os.open(log, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.ftruncate(opened, MOST)
        os.pwrite(opened, CUT, MOST)  # overwrites anything appended in the meantime
    finally:
        os.close(opened)
