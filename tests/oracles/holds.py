"""Pairwise definitions of stale and late writes where the lock gives no tokens: slow and plain.

Hold u comes before hold v iff u's grant had returned before the request that was granted for v was
sent. A write's hold is its owner's last grant before the write was called. On
an unfenced storage a write is stale iff it took effect after a write of a hold that came later.
"""

from __future__ import annotations

from collections.abc import Sequence

from checkers.history.records import WRITES, Op, Outcome


def stale_as_seen(operations: Sequence[Op]) -> set[int]:
    """Return the indexes of the stale writes of one resource by what clients saw.

    The later hold's write had been accepted (it had returned, or was read) before this one was called
    or before this one was read, and the reverse does not hold as well.
    """
    return {
        write.index
        for write in _accepted(operations)
        if any(
            _is_earlier(write, newer, operations) and _came_last(write, newer, operations)
            for newer in _accepted(operations)
        )
    }


def stale_in_log(operations: Sequence[Op], log: Sequence[Op]) -> set[int]:
    """Return the indexes of the stale writes of one resource by the storage's own order."""
    return {
        write.index
        for place, write in enumerate(log)
        if any(_is_earlier(write, newer, operations) for newer in log[:place])
    }


def late_writes(operations: Sequence[Op]) -> set[int]:
    """Return the indexes of the writes called after a later hold's grant, whatever became of them."""
    return {
        write.index
        for write in operations
        if write.f in WRITES and (own := _hold(write, operations)) is not None
        if any(_came_before(own, grant) and grant.precedes(write) for grant in _grants(operations))
    }


def _is_earlier(write: Op, newer: Op, operations: Sequence[Op]) -> bool:
    """Did the hold of one write surely come before the hold of another?"""
    own, later = _hold(write, operations), _hold(newer, operations)
    return own is not None and later is not None and _came_before(own, later)


def _hold(write: Op, operations: Sequence[Op]) -> Op | None:
    if write.token is not None or write.owner is None:
        return None
    own = [
        grant
        for grant in _grants(operations)
        if grant.owner == write.owner and grant.returned is not None and grant.returned <= write.called
    ]
    return max(own, key=lambda grant: (grant.returned or 0, grant.index), default=None)


def _came_before(earlier: Op, later: Op) -> bool:
    return earlier.returned is not None and earlier.returned < later.sent


def _grants(operations: Sequence[Op]) -> list[Op]:
    acquired = (op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK)
    return [op for op in acquired if op.token is None and op.owner is not None]


def _accepted(operations: Sequence[Op]) -> list[Op]:
    return [op for op in operations if op.f in WRITES and _accepted_by(op, operations) < float("inf")]


def _accepted_by(write: Op, operations: Sequence[Op]) -> float:
    """Return when a write had certainly taken effect, in ns: it had returned ok, or had been read."""
    answers = [write] if write.outcome is Outcome.OK else []
    answers += [op for op in operations if _read(op, write)]
    return min((op.returned for op in answers if op.returned is not None), default=float("inf"))


def _came_last(write: Op, newer: Op, operations: Sequence[Op]) -> bool:
    """Did a write surely take effect after a newer one?"""
    accepted, newer_accepted = _accepted_by(write, operations), _accepted_by(newer, operations)
    if newer_accepted < write.called:
        return True
    seen_after = newer_accepted < _last_asked(write, operations)
    return seen_after and not accepted < _last_asked(newer, operations)


def _last_asked(write: Op, operations: Sequence[Op]) -> int:
    """Return the latest call of a write and of its reads, in ns: its value was there after this."""
    return max(op.called for op in operations if op is write or _read(op, write))


def _read(read: Op, write: Op) -> bool:
    is_ok = read.f == "read" and read.outcome is Outcome.OK
    return is_ok and read.value == write.value and not read.precedes(write)
