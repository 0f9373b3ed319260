"""How long each kind of call took, over the run and in sum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from checkers.history import Op, Outcome

_SLOTS = 1_500  # points a kind: about one a pixel
UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The calls of one kind. Durations in ns, of those that were answered."""

    kind: str
    calls: int
    ok: int
    fail: int
    info: int
    median: int | None
    p99: int | None
    slowest: int | None


def summaries(operations: Sequence[Op]) -> tuple[Summary, ...]:
    """A row for each kind of call, the most frequent first."""
    kinds: defaultdict[str, list[Op]] = defaultdict(list)
    for operation in operations:
        kinds[operation.f].append(operation)
    rows = (_summary(kind, group) for kind, group in kinds.items())
    return tuple(sorted(rows, key=lambda row: (-row.calls, row.kind)))


def _summary(kind: str, operations: Sequence[Op]) -> Summary:
    took = sorted(op.returned - op.called for op in operations if op.returned is not None)
    outcomes = [op.outcome for op in operations]
    return Summary(
        kind=kind,
        calls=len(operations),
        ok=outcomes.count(Outcome.OK),
        fail=outcomes.count(Outcome.FAIL),
        info=outcomes.count(Outcome.INFO),
        median=took[len(took) // 2] if took else None,
        p99=took[min(len(took) - 1, len(took) * 99 // 100)] if took else None,
        slowest=took[-1] if took else None,
    )


def points(operations: Sequence[Op], start: int, end: int) -> dict[str, list[tuple[int, int]]]:
    """(moment, duration) in ns by kind: of calls close together, the slowest stands for all.

    Calls that were never answered are a kind of their own, where the client gave them up.
    """
    slot = max(1, (end - start) // _SLOTS)
    slowest: defaultdict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for op in operations:
        until = op.learned if op.returned is None else op.returned
        if until is None:
            continue
        kind = op.f if op.returned is not None else UNANSWERED
        point = (op.called, until - op.called)
        held = slowest[kind].get(op.called // slot)
        if held is None or point[1] > held[1]:
            slowest[kind][op.called // slot] = point
    return {kind: sorted(by_slot.values()) for kind, by_slot in slowest.items()}
