"""Logs: files that processes append to, up to a limit, and whose end is in the message of an error.

Processes append to their logs and do not know the limit. So a thread polls the files and truncates them, so
that a client that writes gigabytes neither fills the disk nor blocks; later output is truncated again.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from checkers.text.printable import quotation, shorten
from harness.core.errors import ServerNotReadyError
from harness.files.atomic_files import PRIVATE

MOST = 16 * 2**20  # bytes of one log
CUT = f"\n[fencepost has cut this log here: more than {MOST >> 20} MiB were written]\n".encode()
LAST_LINES = 15
LAST_LOG_LINES = "last log lines"
"""In the message of each error that shows them."""
_POLL = 0.05  # seconds; the fastest writers manage about 100 MB in that time
_READ = 2**16  # bytes; a log may be one line of many mebibytes
_LONGEST = 500  # characters of one line
_GROWING = os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def open_log(path: Path, *, new: bool = False, read: bool = False) -> int:
    """Open a file for appending, or also for reading; with `new` it must not exist. Returns its descriptor.

    Symbolic links are not followed, and only this user can read the file.
    """
    access = os.O_RDWR if read else os.O_WRONLY
    return os.open(path, access | _GROWING | (os.O_EXCL if new else 0), PRIVATE)


def take_output(path: Path) -> None:
    """Write everything that this process prints to a log."""
    log = open_log(path)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


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


def last_lines(log: Path, most: int) -> tuple[str, ...]:
    """Return the last lines of a log, at most that many, each shortened; none if it does not exist."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _READ))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ()
    return end_of(text, most)


def end_of(text: str, most: int) -> tuple[str, ...]:
    """Return the last lines of a text, at most that many, each shortened and marked as quoted."""
    return tuple(shorten(line, _LONGEST) for line in quotation(text[-_READ:].strip())[-most:])


def not_ready(server: str, seen: str, log: str) -> ServerNotReadyError:
    """Return the error, such as "etcd-1 ended with status 1", from an observation and the whole log."""
    return ServerNotReadyError(f"{server} {seen}", *last_log_lines(log), heading=f"its {LAST_LOG_LINES}:")


def last_log_lines(log: str) -> tuple[str, ...]:
    """Return the end of a log, quoted."""
    return end_of(log, LAST_LINES) or ("  (none)",)
