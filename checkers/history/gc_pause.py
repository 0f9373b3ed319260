"""Pause cyclic garbage collection during bulk work.

Reading and judging create millions of long-lived objects and hardly any cycles; scanning all of
them again and again takes longer than the work itself.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
_OFTEN = 256  # items between two collections; each proof leaves about 15 kB behind


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause cyclic garbage collection inside the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collecting(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and from time to time collect the new cycles that work on them has left behind.

    The number of old objects does not slow this down, so it can be used inside `gc_paused`.
    """
    for number, item in enumerate(items, start=1):
        yield item
        if number % _OFTEN == 0:
            gc.collect(0)
