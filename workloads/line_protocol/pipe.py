"""Lines over two pipes to a program, each with a deadline.

Every failure is Unknown: the program sent nothing or read nothing before the deadline, or
it closed its end.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator

from checkers.history.records import UNUSABLE
from workloads.client import Unknown
from workloads.unsolicited_data import has_input

POLL = 0.05  # seconds; the longest single poll
MAX_LINE = 2**20  # bytes of one line
_READ = 2**16  # bytes at a time


class NoAnswer(Unknown):
    """The program has sent nothing, or read nothing, before the deadline."""

    def __init__(self, why: str = "no answer in time") -> None:
        super().__init__(why)


class Closed(Unknown):
    """The program has closed its standard input or output."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the program has closed its {what}")


class Deadline:
    """A deadline that counts only time in which this process was running.

    A client may be stopped together with its program, which needs a moment to answer once
    both continue: a stop costs at most one poll. Work on what the program says, in the thread
    that made the deadline, counts in full.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._last_poll = time.monotonic()
        self._worked = time.thread_time()

    def next_poll(self) -> float:
        """Return how long the next poll may take (seconds); NoAnswer if no time is left."""
        now, worked = time.monotonic(), time.thread_time()
        self._left -= max(min(now - self._last_poll, POLL), worked - self._worked)
        self._last_poll, self._worked = now, worked
        if self._left <= 0:
            raise NoAnswer
        return min(self._left, POLL)


class LinePipe:
    """Sends lines to a program and receives its lines."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._buffer = bytearray()
        self._searched = 0  # bytes of the buffer known to hold no end of line
        self._is_early = False  # did the buffer hold data before the last line was sent?
        self._sending = threading.Lock()  # one line after the other
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)

    def pending(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield the lines that have already arrived; Unknown if they never stop."""
        while True:
            while (line := self._line()) is not None:
                yield line
            deadline.next_poll()
            if not has_input(self._reading):
                return
            self._fill(deadline)

    def has_input(self, seconds: float) -> bool:
        """Is a line in the buffer, or comes output of the program, or its end, within that time?"""
        return b"\n" in self._buffer or has_input(self._reading, seconds)

    def send(self, line: bytes, deadline: Deadline) -> None:
        """Send a line."""
        self._is_early = bool(self._buffer)
        self.send_beside(line, deadline)

    def send_beside(self, line: bytes, deadline: Deadline) -> None:
        """Send a line that no line received next can answer; any thread may call it."""
        left = memoryview(line + b"\n")
        with self._sending:
            while left:
                try:
                    left = left[os.write(self._writing, left) :]
                except BlockingIOError:
                    _wait(self._writing, select.POLLOUT, deadline)
                except BrokenPipeError as error:
                    raise Closed("standard input") from error

    def receive(self, deadline: Deadline) -> tuple[bytes, bool]:
        """Return the next line, and whether it began before the last line was sent."""
        while (line := self._line()) is None:
            self._fill(deadline)
        early, self._is_early = self._is_early, False
        return line, early

    def _line(self) -> bytes | None:
        """Take the next line from the buffer; None if it is incomplete."""
        end = self._buffer.find(b"\n", self._searched)
        if (len(self._buffer) if end < 0 else end) > MAX_LINE:
            raise Unknown(f"{UNUSABLE}a line of more than {MAX_LINE:,} bytes")
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def _fill(self, deadline: Deadline) -> None:
        _wait(self._reading, select.POLLIN, deadline)
        received = os.read(self._reading, _READ)
        if not received:
            raise Closed("standard output")
        self._buffer += received


def _wait(file: int, event: int, deadline: Deadline) -> None:
    poll = select.poll()
    poll.register(file, event)
    while not poll.poll(deadline.next_poll() * 1000):
        pass
