"""Ctrl-C while servers are being removed: it waits until they are."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def shielded() -> Iterator[None]:
    """Hold back Ctrl-C until the block has ended, and then let it happen.

    Only the main thread is ever interrupted, so elsewhere this does nothing. What a Ctrl-C just
    before the block, or a SIGKILL, leaves behind goes with the next command's sweep.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if held:
            signal.raise_signal(signal.SIGINT)
