"""What is done now, told while it takes its time: a live line on a terminal, elsewhere a line every 10 s."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from checkers.printable import shorten

_LIVE_EVERY, _PLAIN_EVERY = 1.0, 10.0  # s
_CLEAR = "\r\x1b[K"


@contextmanager
def progress(stream: TextIO, plain_every: float = _PLAIN_EVERY) -> Iterator[Callable[[str], None]]:
    """Hear what is done now, and tell it with the seconds that it has taken so far.

    On a terminal that is one line, which is gone in the end; elsewhere work that is
    done within `plain_every` seconds is not mentioned.
    """
    live = stream.isatty() and os.environ.get("TERM") != "dumb"
    teller = _Teller(stream, live=live)
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(_LIVE_EVERY if live else plain_every):
            teller.tell_again()

    ticking = threading.Thread(target=tick, name="progress", daemon=True)
    ticking.start()
    try:
        yield teller.begin
    finally:
        ended.set()
        ticking.join()
        teller.clear()


class _Teller:
    """One line about what is done now."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        self._stream = stream
        self._live = live
        self._doing = ""
        self._began = 0.0

    def begin(self, doing: str) -> None:
        """Something else is done from now on."""
        self._doing, self._began = shorten(doing), time.monotonic()
        if self._live:
            self._write(f"{_CLEAR}{self._doing} …")

    def tell_again(self) -> None:
        """It still is."""
        if self._doing:
            text = f"{self._doing} … {time.monotonic() - self._began:.0f} s"
            self._write(f"{_CLEAR}{text}" if self._live else f"{text}\n")

    def clear(self) -> None:
        """Leave a terminal as it was."""
        if self._live:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
