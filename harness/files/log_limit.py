"""How long the logs of a run may get: a client that writes gigabytes fills no disk, and is not held up.

Whoever writes a log appends to its file and knows nothing of a limit. So the files are looked at
now and then, and cut to their beginning; what comes next is appended there, and cut again.
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
_POLL = 0.05  # seconds; in which the fastest write some 100 MB


@contextmanager
def limited(folder: Path) -> Iterator[set[str]]:
    """Keep every log in a folder within the limit; yield a set that gets the names of those that were cut."""
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
    """Return a log's beginning, and that it was cut, if it is too long."""
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
        os.pwrite(opened, CUT, MOST)  # over what was appended meanwhile, if anything was
    finally:
        os.close(opened)
