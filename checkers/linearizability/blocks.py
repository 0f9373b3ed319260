"""Algorithm R's test of pairs: operations that must stand together, and whether they can be ordered.

A *block* is a group of operations between which nothing else can stand: a value's write
and the reads that returned it, or a lock's acquire and release. It has two moments:

settled  the earliest return of its operations: by then it had begun
claimed  the latest call of its operations: it had not ended before this

Block u must stand before v iff some operation of u had returned before one of v was
called: iff `settled[u] < claimed[v]`. No order of the blocks exists iff this relation has
a cycle, and then two blocks form one: number the blocks of a shortest cycle 1 → 2 → … → k → 1.
If it has more than two, none of its arrows has one back, or that pair would be shorter; so each
says `settled[i] < claimed[i + 1]`, and the missing one back `claimed[i] <= settled[i + 1]`.
Taken in turns along the cycle, `settled[1] < claimed[2] <= settled[3] < claimed[4] <= …`
comes back to `settled[1]`, after one round or two: a moment that is before itself.
(Gibbons and Korach, "Testing Shared Memories", 1997, call the moments the ends of zones.)

So it is enough to look for two blocks with `settled[u] < claimed[v]` and
`settled[v] < claimed[u]`. Say that u settled first (or at the same time, and stands before
v in a sorted list). The candidates for u are then those at the beginning of the list, up to
v's own place and as far as they settled before v was claimed; if any of them will do, the
one that was claimed last does. One sort, one running maximum, one binary search for each
block: O(n log n), most of it in the sort.

Times may repeat: only a return and a call are ever compared, and `<` is what "had returned
before" means for closed intervals.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Moments = NDArray[np.int64]
Ids = NDArray[np.int64]

NEVER: Final = np.iinfo(np.int64).max
"""Settles after everything: nothing of the block has returned. Claimed after everything: it has no end."""

ALWAYS: Final = np.iinfo(np.int64).min
"""Settled before everything: it was there from the start."""


def both_first(settled: Moments, claimed: Moments) -> tuple[int, int] | None:
    """Two blocks each of which must stand before the other, or None if the blocks can be ordered."""
    by_settled = np.argsort(settled, kind="stable")
    settled, claimed = settled[by_settled], claimed[by_settled]
    candidates = np.minimum(np.arange(len(settled)), np.searchsorted(settled, claimed))
    latest = np.maximum.accumulate(claimed)
    clashes = (candidates > 0) & (latest[candidates - 1] > settled)
    if not clashes.any():
        return None
    second = int(clashes.argmax())
    first = int(claimed[: candidates[second]].argmax())
    return int(by_settled[first]), int(by_settled[second])
