"""The matrix of a night: a row for each lock and storage, a column for each fault set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.campaign.assessment import CellResult
from harness.campaign.page.tones import OF_STATUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One cell in the matrix."""

    name: str
    tone: str
    status: str
    rate: str  # "" if no run failed since the status last changed


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """A lock and a storage, with the cells of each column; a column may have several or none."""

    lock: str
    storage: str
    columns: tuple[tuple[Slot, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTable:
    """All cells by lock, storage and faults."""

    faults: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def matrix(results: Iterable[CellResult]) -> MatrixTable:
    """Lay the cells out."""
    slots: dict[tuple[str, str], dict[str, list[Slot]]] = {}
    for result in results:
        cell = result.cell
        row = slots.setdefault((cell.lock, cell.storage), {})
        row.setdefault(cell.faults, []).append(_slot(result))
    faults = tuple(dict.fromkeys(name for row in slots.values() for name in row))
    return MatrixTable(
        faults=faults,
        rows=tuple(
            MatrixRow(lock=lock, storage=storage, columns=tuple(tuple(row.get(name, ())) for name in faults))
            for (lock, storage), row in sorted(slots.items())
        ),
    )


def _slot(result: CellResult) -> Slot:
    return Slot(
        name=result.cell.name,
        tone=OF_STATUS[result.status],
        status=result.said,
        rate=str(result.rate) if result.rate.failed else "",
    )
