"""The text of a file or of standard input: bounded, UTF-8, possibly compressed, possibly cut off."""

from __future__ import annotations

from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from checkers.history.files import GZIP, decompressed, read_bytes, read_stream
from checkers.history.jsonl import half_written
from checkers.text import limits
from checkers.text.errors import HistoryError

BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file written by another tool."""

    name: str
    content: str
    compressed: bool = False  # in the file

    @property
    def is_cut(self) -> bool:
        """Is its last line half written, as when the writer was killed?"""
        return not self.content.endswith("\n")

    @property
    def is_one_line(self) -> bool:
        """Is it all on one line, as a program without indentation writes it?"""
        return "\n" not in self.content.strip()

    @property
    def last_line(self) -> int:
        """The number of its last line, from 1."""
        return self.content.count("\n") + self.is_cut

    def half_written(self) -> str:
        """Return the notice about a half-written last line that was dropped."""
        return half_written(self.name, self.last_line)


def read_text(path: Path) -> Text:
    """Read a file as text, decompressed if it is a gzip file.

    Raises:
        HistoryError: it cannot be read, is beyond a limit, empty, or not UTF-8.
    """
    return _text(read_bytes(path, limits.HISTORY, limits.SPLIT, text=True), str(path))


def read_text_of(stream: BufferedReader, name: str) -> Text:
    """Read a stream without a path, such as standard input, like `read_text`."""
    return _text(read_stream(stream, name, limits.HISTORY, limits.SPLIT, text=True), name)


def _text(raw: bytes, name: str) -> Text:
    compressed = raw.startswith(GZIP)
    content = decompressed(raw, name, limits.HISTORY) if compressed else raw
    text = Text(name, _decoded(content, name), compressed)
    if not text.content.strip():
        raise HistoryError(name, 1, "the file is empty")
    return text


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode().removeprefix(BOM)
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.end == len(raw):  # cut inside a character
            return raw.decode(errors="replace").removeprefix(BOM)
        line = raw.count(b"\n", 0, error.start) + 1
        value = raw[error.start : error.start + 4].hex(" ")
        raise HistoryError(name, line, f"not UTF-8 ({error.reason} at byte {error.start}: {value})") from None
