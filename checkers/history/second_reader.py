"""Reads a long history in two processes: this one reads the first half, and a second one the rest.

Both run the same reader, and the second one's numbers of names and values become those of the first
(`Events.extend`), so the columns do not depend on who read which line. If the second process cannot be
started, or fails for any reason, this one reads the rest as well: it finds the same irregular line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader

import msgspec

from checkers.history.event_columns import HEADER_LINE, Events, Part, read_events
from checkers.history.gc_pause import gc_paused
from checkers.history.jsonl import MAX_LINE
from checkers.history.records import Header, History

LARGE = 1 << 26
"""The size in bytes from which a file is shared: to start a process takes as long as reading some MiB."""

HEAD_START = 1 << 23
"""Bytes that this process reads besides its half, while the second one starts."""

_READ_REST = "from checkers.history.second_reader import read_rest; read_rest()"
_PIPE = 1 << 20  # bytes
_STDIN = 0


class _Section:
    """A part of a file that other readers have open, too: it has a position of its own."""

    def __init__(self, descriptor: int, start: int, end: int = sys.maxsize) -> None:
        self._descriptor = descriptor
        self._at = start
        self._end = end

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        text = os.pread(self._descriptor, min(size, self._end - self._at), self._at)
        self._at += len(text)
        return text


def read_long(file: BufferedReader, header: Header, name: str) -> History:
    """Read the events after the header, by two processes if the file is large.

    Raises:
        IrregularError: as `read_events`.
    """
    middle = _middle(file)
    if middle is None:
        return read_events(file, header, name)
    descriptor = file.fileno()
    events = Events(header.initial_value, HEADER_LINE)
    with gc_paused(), _second_reader(descriptor, middle) as second:
        events.read(_Section(descriptor, file.tell(), middle))
        if rest := None if second is None else _result(second):
            events.extend(rest)
        else:
            events.read(_Section(descriptor, middle))
        del rest  # as large as all columns together
        return events.history(header, name)


def _middle(file: BufferedReader) -> int | None:
    """Where the second half of the lines begins; None if one process reads them all."""
    size = os.fstat(file.fileno()).st_size
    if size < LARGE or _processors() < 2:  # noqa: PLR2004 - a pair of readers
        return None
    middle = size // 2 + HEAD_START
    line = os.pread(file.fileno(), MAX_LINE, middle)
    middle += line.find(b"\n") + 1
    return middle if b"\n" in line and file.tell() < middle < size else None


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _second_reader(descriptor: int, start: int) -> Iterator[subprocess.Popen[bytes] | None]:
    """A process that reads the lines from some place on; it ends with the block."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _READ_REST, str(start)],
            stdin=descriptor,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # the same reader
            pipesize=_PIPE,
        )
    except OSError:
        yield None
        return
    with process:
        try:
            yield process
        finally:
            process.kill()


def _result(second: subprocess.Popen[bytes]) -> Part | None:
    """What the second process has read; None if it failed."""
    found = second.communicate()[0]
    if second.returncode:
        return None
    try:
        return msgspec.msgpack.decode(found, type=Part)
    except msgspec.MsgspecError:
        return None


def read_rest() -> None:
    """Read the lines of the file on stdin from some place on, and write them to stdout as columns."""
    with gc_paused():
        events = Events()
        events.read(_Section(_STDIN, int(sys.argv[1])))
        sys.stdout.buffer.write(msgspec.msgpack.encode(events.part()))
