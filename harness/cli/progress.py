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
    doing, began = "", 0.0
    ended = threading.Event()

    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    def begin(stage: str) -> None:
        nonlocal doing, began
        doing, began = shorten(stage), time.monotonic()
        if live:
            write(f"{_CLEAR}{doing} …")

    def tick() -> None:
        while not ended.wait(_LIVE_EVERY if live else plain_every):
            if doing:
                text = f"{doing} … {time.monotonic() - began:.0f} s"
                write(f"{_CLEAR}{text}" if live else f"{text}\n")

    ticking = threading.Thread(target=tick, name="progress", daemon=True)
    ticking.start()
    try:
        yield begin
    finally:
        ended.set()
        ticking.join()
        if live:
            write(_CLEAR)
