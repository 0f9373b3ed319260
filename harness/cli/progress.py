"""Progress of slow work: a live line on a terminal, otherwise a line every 10 s."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from checkers.text.printable import shorten

_LIVE_EVERY, _PLAIN_EVERY = 1.0, 10.0  # s
_CLEAR = "\r\x1b[K"


@contextmanager
def progress(stream: TextIO, plain_every: float = _PLAIN_EVERY) -> Iterator[Callable[[str], None]]:
    """Yield a function that gets each stage, and print the stage with the seconds it has taken so far.

    On a terminal that is one line, cleared at the end; otherwise a stage that takes
    less than `plain_every` seconds is not printed.
    """
    live = stream.isatty() and os.environ.get("TERM") != "dumb"
    line = _StatusLine(stream, live=live)
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(_LIVE_EVERY if live else plain_every):
            line.refresh()

    ticking = threading.Thread(target=tick, name="progress", daemon=True)
    ticking.start()
    try:
        yield line.begin
    finally:
        ended.set()
        ticking.join()
        line.clear()


class _StatusLine:
    """One line about the current stage."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        self._stream = stream
        self._live = live
        self._doing = ""
        self._began = 0.0

    def begin(self, doing: str) -> None:
        """Start another stage."""
        self._doing, self._began = shorten(doing), time.monotonic()
        if self._live:
            self._write(f"{_CLEAR}{self._doing} …")

    def refresh(self) -> None:
        """Print the stage again, with its time."""
        if self._doing:
            text = f"{self._doing} … {time.monotonic() - self._began:.0f} s"
            self._write(f"{_CLEAR}{text}" if self._live else f"{text}\n")

    def clear(self) -> None:
        """Clear the line on a terminal."""
        if self._live:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
