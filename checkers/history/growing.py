"""Columns that grow by a chunk of lines at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from checkers.history.jsonl import MAX_LINE
from checkers.history.plain_text import require

CHUNK = 1 << 20  # bytes that are read at a time
_SPARE = 4  # times the rows so far: copying is slow, and unused memory costs nothing
Column = NDArray[Any]


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """Yield complete lines, many at a time; only the end of the file may lack its newline.

    Raises:
        IrregularError: a line is over the limit.
    """
    held = b""
    while block := file.read(CHUNK):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield held + block[:cut]
            held = block[cut:]
        else:
            held += block
        require(len(held) <= MAX_LINE)
    if held:
        yield held


class GrowingColumns:
    """Columns of the same length, to which chunks are added."""

    def __init__(self) -> None:
        self.count = 0  # rows
        self._columns: dict[str, Column] = {}

    def add(self, chunk: dict[str, Column]) -> None:
        """Add rows to large arrays, since many small ones would fragment memory."""
        before = self.count
        self.count += len(next(iter(chunk.values())))
        for name, column in chunk.items():
            whole = self._columns.get(name, column)
            if len(whole) < self.count or not before:
                longer = np.empty(_SPARE * self.count, dtype=column.dtype)  # unused memory is never allocated
                longer[:before] = whole[:before]
                whole = self._columns[name] = longer
            whole[before : self.count] = column

    def take(self) -> dict[str, Column]:
        """Return all columns; the object is empty afterwards."""
        taken = {name: column[: self.count] for name, column in self._columns.items()}
        self._columns.clear()
        return taken
