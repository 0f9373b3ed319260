r"""Read JSON lines of one plain layout with array operations, without a parser.

Our recorders write flat objects: known names, strings without escapes, integers and null, and
either no white space or one blank after each colon and comma. In such a text, a quote only starts or
ends a string, and between two strings there is one of five gaps:

    :           after a name, before its string
    ,           after a string, before the next name
    }\n{        after a string, before the next line
    :5,         after a name, its number, before the next name
    :5}\n{      after a name, its number, before the next line

A text that begins with `{"`, ends with `}\n` and has no other gap has one JSON object per line,
provided that its numbers are valid, which is checked when a field is read. Everything else (an
escape, a character beyond ASCII, a float, a nested value, an unknown or repeated name, other white
space) raises `IrregularError`: it may be valid, but only a parser can decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from checkers.history.columns import ABSENT, Flags, Ints
from checkers.history.plain_text import PlainText, require

_QUOTE, _BLANK = b'" '
_LINE_END, _NULL, _TRUE, _FALSE = b"}\n{", b"null", b"true", b"false"
_LONGEST_NAME = 8  # characters: one word


class Field:
    """The values of one field, in the order of lines."""

    def __init__(self, text: PlainText, strings: _Strings, names: Ints, lines: Ints) -> None:
        """`names`: the indices of the strings that are the field's name."""
        require(np.all(lines[1:] > lines[:-1]))
        self.lines = lines  # the lines that have the field, counted from 0
        self._text = text
        self._strings = strings
        self._is_string = strings.has_string[names]
        self._names = names
        gaps = names[~self._is_string]
        starts, ends = strings.starts[gaps], strings.ends[gaps]
        is_null = ends - starts == len(_NULL)
        is_null[is_null] = text.has(_NULL, starts[is_null])
        self._starts, self._ends = starts[~is_null], ends[~is_null]  # of the numbers
        self.is_null = np.zeros(len(names), dtype=np.bool_)
        self.is_null[~self._is_string] = is_null

    def integers(self) -> Ints:
        """Return the non-negative values; ABSENT for null."""
        require(not np.any(self._is_string))
        return self._unless_null(self._text.integers(self._starts, self._ends))

    def numbers(self, table: Mapping[str, int]) -> Ints:
        """Return a table's numbers for the strings; ABSENT for null."""
        require(not len(self._starts))
        values = self._names[self._is_string] + 1
        starts, ends = self._strings.opens[values] + 1, self._strings.closes[values]
        return self._unless_null(self._text.numbers(starts, ends, table))

    def flags(self) -> Flags:
        """Return the values, each of them true or false."""
        require(len(self._starts) == len(self.lines))
        lengths = self._ends - self._starts
        is_true: Flags = (lengths == len(_TRUE)) & self._text.has(_TRUE, self._starts)
        is_false = (lengths == len(_FALSE)) & self._text.has(_FALSE, self._starts)
        require(np.all(is_true | is_false))
        return is_true

    def _unless_null(self, values: Ints) -> Ints:
        if len(values) == len(self.lines):
            return values
        found = np.full(len(self.lines), ABSENT, dtype=np.int64)
        found[~self.is_null] = values
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scan:
    """Some lines, with their fields by name."""

    count: int
    longest: int  # bytes of the longest line
    fields: Mapping[str, Field]

    @classmethod
    def of(cls, lines: bytes, names: Iterable[str]) -> Self:
        """Scan lines that each end with a newline.

        Only `names` are allowed, of at most eight characters each.

        Raises:
            IrregularError: the lines have another layout, or another name.
        """
        require(lines.isascii() and b"\\" not in lines and lines.startswith(b'{"'))
        text = PlainText(lines + b'{"')
        quotes = np.flatnonzero(text.codes == _QUOTE)
        require(len(quotes) % 2 == 1)
        strings = _Strings.of(text, quotes)
        newlines = strings.nexts[strings.ends_line] - 2
        require(np.count_nonzero(text.codes < _BLANK) == len(newlines))  # so none is in a string
        longest = np.diff(newlines, prepend=text.start - 1).max()
        return cls(count=len(newlines), longest=int(longest), fields=_fields(text, strings, names))


@dataclass(frozen=True, slots=True, eq=False)
class _Strings:
    """All strings of a text, and the gap after each."""

    opens: Ints  # its first quote
    closes: Ints  # its second quote
    nexts: Ints  # the first quote of the next one
    is_name: Flags
    has_string: Flags  # is it the name of the next string?
    ends_line: Flags  # is it the last of its line?
    starts: Ints  # of the number in the gap after a name
    ends: Ints

    @classmethod
    def of(cls, text: PlainText, quotes: Ints) -> Self:
        """Return the strings of a text; raise IrregularError if a gap is unknown or misplaced."""
        opens, closes, nexts = quotes[:-1:2], quotes[1::2], quotes[2::2]
        is_spaced = text.codes[closes[0] + 2] == _BLANK
        colon, comma = (b": ", b", ") if is_spaced else (b":", b",")
        is_name = text.has(colon, closes + 1)
        has_string = is_name & (nexts - closes == 1 + len(colon))
        require(is_name[0] and np.array_equal(is_name[1:], ~has_string[:-1]))
        ends_line = text.has(_LINE_END, nexts - len(_LINE_END))
        ends_field = ends_line | text.has(comma, nexts - len(comma))
        starts = closes + 1 + is_name * len(colon)
        ends = nexts - np.where(ends_line, len(_LINE_END), len(comma))
        require(np.all(has_string | (ends_field & (np.sign(ends - starts) == is_name))))
        return cls(opens, closes, nexts, is_name, has_string, ends_line, starts, ends)


def _fields(text: PlainText, strings: _Strings, names: Iterable[str]) -> dict[str, Field]:
    """Return the field of each name; a line may have a name once, and no other names."""
    places = np.flatnonzero(strings.is_name)
    starts = strings.opens[places] + 1
    lengths = strings.closes[places] - starts
    require(lengths.max() <= _LONGEST_NAME)
    words = text.words(starts, lengths)
    line: Ints = np.cumsum(strings.ends_line) - strings.ends_line
    fields = {}
    for name in names:
        of_name = places.take(np.flatnonzero(words == int.from_bytes(name.encode(), "little")))
        fields[name] = Field(text, strings, of_name, line.take(of_name))
    require(sum(len(field.lines) for field in fields.values()) == len(places))
    return fields
