"""Python's search for cycles of objects, put off.

Reading and judging make millions of objects that live on and hardly a cycle among them;
to look through all of them again and again takes longer than the work itself.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Look for no cycles while the block lasts."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
