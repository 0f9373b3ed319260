"""The end of a log, in the message of an error."""

from __future__ import annotations

import os
from pathlib import Path

from checkers.text.printable import quotation, shorten

_READ = 2**16  # bytes; a log may be one line of many mebibytes
_LONGEST = 500  # characters of one line


def last_lines(log: Path, most: int) -> tuple[str, ...]:
    """Return the last lines of a log, at most that many, each shortened; none if it does not exist."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _READ))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ()
    return end_of(text, most)


def end_of(text: str, most: int) -> tuple[str, ...]:
    """Return the last lines of a text, at most that many, each shortened and marked as quoted."""
    return tuple(shorten(line, _LONGEST) for line in quotation(text[-_READ:].strip())[-most:])
