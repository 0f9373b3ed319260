"""Pause cyclic garbage collection during bulk work.

Reading and judging create millions of long-lived objects and hardly any cycles; to scan all of
them again and again takes longer than the work itself.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect no cycles inside the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
