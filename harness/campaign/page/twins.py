"""Fenced and unfenced twins: the same lock, storage and faults, with and without a fence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.campaign.assessment import CellResult
from harness.campaign.cells import UNFENCED
from harness.campaign.page.tones import OF_STATUS


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinSide:
    """One of two twins, with what its runs of tonight did to stale writes."""

    name: str
    storage: str
    tone: str
    status: str
    attempted: int
    rejected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Cells that differ only in the fence."""

    lock: str
    storage: str
    faults: str
    unfenced: tuple[TwinSide, ...]
    fenced: tuple[TwinSide, ...]


def twins(results: Iterable[CellResult]) -> tuple[Twins, ...]:
    """Pair the cells that have a twin."""
    alike: dict[tuple[str, str, str], tuple[list[TwinSide], list[TwinSide]]] = {}
    for result in results:
        kind, _, fencing = result.cell.storage.partition(":")
        pair = alike.setdefault((result.cell.lock, kind, result.cell.faults), ([], []))
        pair[fencing != UNFENCED].append(_side(result))
    return tuple(
        Twins(lock=lock, storage=storage, faults=faults, unfenced=tuple(unfenced), fenced=tuple(fenced))
        for (lock, storage, faults), (unfenced, fenced) in sorted(alike.items())
        if unfenced and fenced
    )


def _side(result: CellResult) -> TwinSide:
    return TwinSide(
        name=result.cell.name,
        storage=result.cell.storage,
        tone=OF_STATUS[result.status],
        status=result.said,
        attempted=_counted(result, "stale_writes_attempted"),
        rejected=_counted(result, "stale_writes_rejected"),
    )


def _counted(result: CellResult, name: str) -> int:
    return sum((run.finished.verdict or {}).get("coverage", {}).get(name, 0) for run in result.runs)
