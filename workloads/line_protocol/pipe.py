"""Lines over two pipes to a program, each with a deadline.

What goes wrong is Unknown: nothing came, or nothing was taken, for as long as there was
patience; or the program has closed its end.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator

from workloads.client import Unknown
from workloads.early_answers import something_waits

LOOK = 0.05  # seconds; the longest that one look for news may take
LONGEST = 2**20  # bytes of one line
_READ = 2**16  # bytes at a time


class Patience:
    """A deadline that counts only time in which this process ran.

    A client may be stopped together with its program, and the program needs a moment to
    answer when both go on: a stop costs no more than one look.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._looked = time.monotonic()

    def look(self) -> float:
        """Return how long the next look may take, in seconds; Unknown if there is no time left."""
        now = time.monotonic()
        self._left -= min(now - self._looked, LOOK)
        self._looked = now
        if self._left <= 0:
            raise Unknown("no answer in time")
        return min(self._left, LOOK)


class LinePipe:
    """Sends lines to a program, and receives its lines."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._heard = bytearray()
        self._searched = 0  # so far there is no end of a line in what was heard
        self._is_early = False  # was what was heard there before the last line was sent?
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)

    def waiting(self, patience: Patience) -> Iterator[bytes]:
        """Yield the lines that are there already; Unknown if there is no end of them."""
        while True:
            while (line := self._line()) is not None:
                yield line
            patience.look()
            if not something_waits(self._reading):
                return
            self._hear(patience)

    def send(self, line: bytes, patience: Patience) -> None:
        """Send a line."""
        self._is_early = bool(self._heard)
        left = memoryview(line + b"\n")
        while left:
            try:
                left = left[os.write(self._writing, left) :]
            except BlockingIOError:
                _wait(self._writing, select.POLLOUT, patience)
            except BrokenPipeError as error:
                raise Unknown("the program has closed its standard input") from error

    def receive(self, patience: Patience) -> tuple[bytes, bool]:
        """Return the next line, and whether it was begun before the last one was sent."""
        while (line := self._line()) is None:
            self._hear(patience)
        early, self._is_early = self._is_early, False
        return line, early

    def _line(self) -> bytes | None:
        """Take the next line from what was heard; None if it has no end yet."""
        end = self._heard.find(b"\n", self._searched)
        if (len(self._heard) if end < 0 else end) > LONGEST:
            raise Unknown(f"the program wrote a line of more than {LONGEST} bytes")
        if end < 0:
            self._searched = len(self._heard)
            return None
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        self._searched = 0
        return line

    def _hear(self, patience: Patience) -> None:
        _wait(self._reading, select.POLLIN, patience)
        heard = os.read(self._reading, _READ)
        if not heard:
            raise Unknown("the program has closed its standard output")
        self._heard += heard


def _wait(file: int, event: int, patience: Patience) -> None:
    poll = select.poll()
    poll.register(file, event)
    while not poll.poll(patience.look() * 1000):
        pass
