"""What a program writes to standard error, copied to a log of limited size.

The program writes to a pipe and not to the file: whatever it writes, the file never grows beyond
the limit by more than one read, and the program never blocks.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from harness.files.log_limit import CUT, MOST

_READ = 2**16  # bytes at a time
_ENDING = 1.0  # seconds; a child process of the program may hold the pipe open for ever


@dataclass(frozen=True, slots=True)
class ErrorOutput:
    """The pipe of one program, and the thread that empties it."""

    thread: threading.Thread

    @classmethod
    def copied(cls, reading: int, log: int) -> ErrorOutput:
        """Copy what arrives to a file; both descriptors are closed at the end."""
        thread = threading.Thread(target=_copy, args=(reading, log), daemon=True)
        thread.start()
        return cls(thread)

    def finish(self) -> None:
        """Wait until the last words of an ended program are in the file."""
        self.thread.join(_ENDING)


def _copy(reading: int, log: int) -> None:
    try:
        while said := os.read(reading, _READ):
            if os.fstat(log).st_size <= MOST + len(CUT):
                os.write(log, said)
    finally:
        os.close(reading)
        os.close(log)
