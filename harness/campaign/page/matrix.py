"""The matrix of a night: a row for each lock and storage, a column for each fault set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.campaign.assessment import CellResult

MatrixRow = tuple[str, str, tuple[tuple[CellResult, ...], ...]]
"""A lock and a storage, with the cells of each column; a column may have several or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTable:
    """All cells by lock, storage and faults."""

    faults: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def matrix(results: Iterable[CellResult]) -> MatrixTable:
    """Lay the cells out."""
    slots: dict[tuple[str, str], dict[str, list[CellResult]]] = {}
    for result in results:
        cell = result.cell
        row = slots.setdefault((cell.lock, cell.storage), {})
        row.setdefault(cell.faults, []).append(result)
    faults = tuple(dict.fromkeys(name for row in slots.values() for name in row))
    return MatrixTable(
        faults=faults,
        rows=tuple(
            (lock, storage, tuple(tuple(row.get(name, ())) for name in faults))
            for (lock, storage), row in sorted(slots.items())
        ),
    )
