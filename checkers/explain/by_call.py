"""Operations by their calls, to find those of one moment among many."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from checkers.history.columns import NEVER
from checkers.history.records import Op
from checkers.ranges import Above


class ByCall:
    """Operations by call."""

    def __init__(self, operations: Sequence[Op]) -> None:
        self._last_first = sorted(operations, key=lambda op: op.called)[::-1]
        over = (NEVER if op.returned is None else op.returned for op in self._last_first)
        self._over = Above(np.fromiter(over, dtype=np.int64))

    def backwards(self, called: float, returned: int) -> Iterator[Op]:
        """Those that were called by a moment and had not returned before another, the last one first."""
        first = bisect_right(self._last_first, -called - 1, key=lambda op: -op.called)
        place = self._over.first((returned - 1,), first)
        while place is not None:
            yield self._last_first[place]
            place = self._over.first((returned - 1,), place + 1)
