"""The text of a file: bounded, UTF-8, and possibly cut short."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checkers.errors import HistoryError
from checkers.history import limits
from checkers.history.files import read_bytes

BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file that another tool wrote."""

    name: str
    content: str

    @property
    def is_cut(self) -> bool:
        """Is its last line half written, as when the writer was killed?"""
        return not self.content.endswith("\n")

    @property
    def last_line(self) -> int:
        """The number of its last line, from 1."""
        return self.content.count("\n") + self.is_cut

    def half_written(self) -> str:
        """The notice about a half-written last line that was dropped."""
        return f"{self.name}:{self.last_line}: the last line is only half written and was left out"


def read_text(path: Path) -> Text:
    """Read a file as text.

    Raises:
        HistoryError: it cannot be read, is over 2 GiB, empty, or not UTF-8.
    """
    name = str(path)
    raw = read_bytes(path, limits.HISTORY, limits.SPLIT, text=True)
    text = Text(name, _decoded(raw, name))
    if not text.content.strip():
        raise HistoryError(name, 1, "the file is empty")
    return text


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode().removeprefix(BOM)
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.end == len(raw):  # cut inside of a character
            return raw.decode(errors="replace").removeprefix(BOM)
        line = raw.count(b"\n", 0, error.start) + 1
        value = raw[error.start : error.start + 4]
        raise HistoryError(
            name, line, f"not UTF-8 ({error.reason} at byte {error.start}: {value!r})"
        ) from None
