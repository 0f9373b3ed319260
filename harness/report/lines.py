"""Lines of text for a terminal or a log, wrapped so that people can read them."""

from __future__ import annotations

import enum
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from checkers.text.printable import line as as_line

WIDTH = 100
"""Columns of a log, and at most of a terminal: longer lines are hard to read."""

_LEAST = 20  # columns for the text, however narrow a terminal is


class LineTone(enum.StrEnum):
    """The kind of a line, which decides its color."""

    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    PLAIN = "plain"
    FAINT = "faint"
    COMMAND = "command"  # to be copied: never wrapped


@dataclass(frozen=True, slots=True)
class StyledLine:
    """One line, without its end."""

    text: str
    tone: LineTone = LineTone.PLAIN
    indent: int = 0  # columns; wrapped lines keep it

    def __str__(self) -> str:
        return " " * self.indent + self.text


_BEFORE_UNIT = re.compile(r"(?<=\d) (?=s\b)")
_UNBROKEN = "\N{NO-BREAK SPACE}"


def wrapped(lines: Iterable[StyledLine], width: int = WIDTH) -> Iterator[StyledLine]:
    """Break lines between words, but not between a number and its unit; a command is left whole."""
    for each in lines:
        if each.tone is LineTone.COMMAND or not each.text:
            yield each
            continue
        columns = max(_LEAST, width - each.indent)
        text = _BEFORE_UNIT.sub(_UNBROKEN, as_line(each.text))
        parts = textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False)
        yield from (replace(each, text=part.replace(_UNBROKEN, " ")) for part in parts)
