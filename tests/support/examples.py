"""How many random cases a test draws: a share in `make test` and `make test-slow`, all in `make test-nightly`."""

from __future__ import annotations

import os
from typing import Protocol

SHARE = float(os.environ.get("FENCEPOST_EXAMPLES", "1"))
FEWEST = 20


def examples(count: int, *, least: int = FEWEST) -> int:
    """Return the share of `count`, but no fewer than `least`."""
    return max(min(count, least), round(count * SHARE))


class Cases(Protocol):
    """The type of `examples`, and of the fixture `cases`."""

    def __call__(self, count: int, *, least: int = FEWEST) -> int: ...
