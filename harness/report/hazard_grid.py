"""The hazards of a run as tables: where each fault began, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

from checkers.vocabulary.document import HazardsDocument
from checkers.vocabulary.hazards import POINTS, Cell, End, Fate, HazardTable, Hit, Point
from harness.report.sentences import capitalized

ENDS = ("Within the lease", "Lease expired", "Another had the lock", "Another had written")
"""The columns, in the order of `End`."""

_HITS = {
    Hit.HOLDER: "Faults on the holder of the lock",
    Hit.WAITER: "Faults on a client that waited for the lock",
    Hit.LOCK: "Faults on the lock service",
    Hit.STORAGE: "Faults on the storage",
}
_ENDED = {
    End.BEFORE_EXPIRY: "within the lease",
    End.EXPIRED: "once the lease had expired",
    End.REGRANTED: "once another client had the lock",
    End.SUPERSEDED: "once another client had written",
}
_ANY = "*"
_FATES = {Fate.DELIVERED: "", Fate.DELAYED: ", messages arriving afterwards", Fate.LOST: ", messages lost"}


def hazards(seen: HazardsDocument | None, table: HazardTable | None) -> SimpleNamespace | None:
    """Lay out the hazards of a run; None if it met none and its target has none."""
    if seen is None:
        return None
    known = table or HazardTable()
    return SimpleNamespace(grids=tuple(_grids(seen, known)), impossible=tuple(_impossible(seen, known)))


def _impossible(seen: HazardsDocument, table: HazardTable) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each reason with the cells that it excludes; an excluded cell hit by chance is left out."""
    for why, cells in table.impossible.items():
        not_hit = [cell for cell in cells if cell not in seen.hit]
        if not_hit:
            yield capitalized(why), tuple(map(in_words, not_hit))


def in_words(pattern: str) -> str:
    """Describe cells, such as `*/expired/holder/lost`, where `*` means every point or end."""
    point, end, hit, *fate = pattern.split("/")
    parts = [
        _HITS[Hit(hit)],
        "" if point == _ANY else f"begun {POINTS[Point(point)]}",
        "" if end == _ANY else f"ended {_ENDED[End(end)]}",
        *(f"messages {each}" for each in fate),
    ]
    return ", ".join(filter(None, parts))


def _grids(seen: HazardsDocument, table: HazardTable) -> Iterator[SimpleNamespace]:
    """Yield a grid for each kind of target and effect on messages."""
    shown: dict[Cell, int] = dict.fromkeys(map(Cell.named, table.possible), 0)
    shown |= {Cell.named(name): count for name, count in seen.hit.items()}
    for hit in Hit:
        for fate in Fate:
            rows = [_row(point, hit, fate, shown) for point in Point]
            rows = [row for row in rows if any(count is not None for count in row.counts)]
            if rows:
                yield SimpleNamespace(title=f"{_HITS[hit]}{_FATES[fate]}", rows=tuple(rows))


def _row(point: Point, hit: Hit, fate: Fate, shown: dict[Cell, int]) -> SimpleNamespace:
    """Count each end of a fault at a position of the holder; None: the target has no such fault."""
    counts: Sequence[int | None] = [shown.get(Cell(point, end, hit, fate)) for end in End]
    return SimpleNamespace(point=POINTS[point], counts=tuple(counts))
