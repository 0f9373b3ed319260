"""Algorithm R's test of pairs: can the blocks be ordered?

A *block* is a group of operations with no other operation in between: a value's write and
the reads that returned it, or a lock's acquire and release. It has two moments:

settled  the earliest return of its operations: by then it had begun
claimed  the latest call of its operations: it had not ended before this

`columns.NEVER` is later than all: no operation has returned, or the block has no end.

Block u must come before v iff some operation of u had returned before one of v was called: iff `settled[u] <
claimed[v]`. No order of the blocks exists iff this relation has a cycle, and then two blocks form one: number
the blocks of a shortest cycle 1 → 2 → … → k → 1. If it has more than two, no arrow has a reverse arrow, or
that pair would be shorter; so each says `settled[i] < claimed[i + 1]`, and the missing reverse `claimed[i] <=
settled[i + 1]`. Alternating along the cycle, `settled[1] < claimed[2] <= settled[3] < claimed[4] <= …` comes
back to `settled[1]`, after one round or two: a moment that is before itself. (Gibbons and Korach, "Testing
Shared Memories", 1997, call the moments the ends of zones.)

So it is enough to look for two blocks with `settled[u] < claimed[v]` and `settled[v] < claimed[u]`. Say that
u settled first (or at the same time, and comes before v in a sorted list). The candidates for u are at the
beginning of the list, up to v's own place, and settled before v was claimed; if any of them qualifies, the
one claimed last does. One sort, one running maximum, one binary search for each block: O(n log n), most of it
in the sort.

Times may repeat: only a return and a call are ever compared, and `<` is what "had returned
before" means for closed intervals.
"""

from __future__ import annotations

import numpy as np

from checkers.history.columns import Ints


def both_first(settled: Ints, claimed: Ints) -> tuple[int, int] | None:
    """Return two blocks that must each come before the other, or None if the blocks can be ordered."""
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
