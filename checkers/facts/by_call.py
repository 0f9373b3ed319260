"""An index of operations by call, to find the few that were in flight at one time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, groupby
from operator import attrgetter

import numpy as np

from checkers.history.columns import NEVER
from checkers.history.ranges import Above
from checkers.history.records import Op


class ByCall:
    """Some operations, ordered by call."""

    def __init__(self, operations: Sequence[Op]) -> None:
        self._last_first = sorted(operations, key=lambda op: op.called)[::-1]
        over = (NEVER if op.returned is None else op.returned for op in self._last_first)
        self._over = Above(np.fromiter(over, dtype=np.int64))

    def backwards(self, called: float, returned: int, *, but: Op | None = None) -> Iterator[Op]:
        """Yield the operations called by `called` that had not returned before `returned`, last call first.

        Those of the owner of `but` are skipped, since there may be many in a row.
        """
        first = bisect_right(self._last_first, -called - 1, key=lambda op: -op.called)
        place = self._over.first((returned - 1,), first)
        while place is not None:
            op, following = self._last_first[place], place + 1
            if but is not None and op.owner == but.owner:
                following = self._next_of_another[place]
            else:
                yield op
            place = self._over.first((returned - 1,), following)

    @cached_property
    def _next_of_another(self) -> list[int]:
        """The next place of another owner, for each place."""
        sizes = [len([*own]) for _, own in groupby(self._last_first, key=attrgetter("owner"))]
        return [end for size, end in zip(sizes, accumulate(sizes), strict=True) for _ in range(size)]
