"""Defer Ctrl-C until the servers are removed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Hold back interrupts until the block has ended, and then raise the first of them.

    Python handles signals in the main thread, so in other threads this does nothing. The next
    sweep removes anything left behind by an interrupt just before the block or by a SIGKILL.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    handlers = {each: signal.getsignal(each) for each in INTERRUPTS if callable(signal.getsignal(each))}
    for each in handlers:
        signal.signal(each, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        if held:
            signal.raise_signal(held[0])
