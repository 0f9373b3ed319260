"""How many examples Hypothesis draws: a share of them in `make test`, all of them in `make test-slow`."""

from __future__ import annotations

import os

SHARE = float(os.environ.get("FENCEPOST_EXAMPLES", "1"))
FEWEST = 20


def examples(count: int) -> int:
    return max(FEWEST, round(count * SHARE))
