"""Fenced and unfenced twins: the same lock, storage and faults, with and without a fence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.campaign.assessment import CellResult
from harness.campaign.cells import UNFENCED


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Cells that differ only in the fence."""

    lock: str
    storage: str
    faults: str
    unfenced: tuple[CellResult, ...]
    fenced: tuple[CellResult, ...]


def twins(results: Iterable[CellResult]) -> tuple[Twins, ...]:
    """Pair the cells that have a twin."""
    alike: dict[tuple[str, str, str], tuple[list[CellResult], list[CellResult]]] = {}
    for result in results:
        kind, _, fencing = result.cell.storage.partition(":")
        pair = alike.setdefault((result.cell.lock, kind, result.cell.faults), ([], []))
        pair[fencing != UNFENCED].append(result)
    return tuple(
        Twins(lock=lock, storage=storage, faults=faults, unfenced=tuple(unfenced), fenced=tuple(fenced))
        for (lock, storage, faults), (unfenced, fenced) in sorted(alike.items())
        if unfenced and fenced
    )
