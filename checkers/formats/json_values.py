"""JSON of other tools: read strictly, value by value, so that each has its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from checkers.formats import edn
from checkers.formats.text import Text
from checkers.history.jsonl import is_cut_short
from checkers.text.errors import HistoryError

_BLANK = re.compile(r"[ \t\r\n]*")


class HalfWrittenError(Exception):
    """The last line of the file is not whole."""


def read(text: Text) -> Iterator[tuple[int, Any]]:
    """Yield the elements of an array, or values one after another, each with its line.

    Raises:
        HistoryError: it is not JSON.
        HalfWrittenError: the last of several lines is not whole.
    """
    reader = _Reader(text)
    if not reader.takes("["):
        while not reader.at_end():
            yield reader.value()
        return
    if not reader.takes("]"):
        yield reader.value()
        while reader.takes(","):
            yield reader.value()
        if not reader.takes("]"):
            raise reader.error("the array is not closed here, nor does it go on")
    if not reader.at_end():
        raise reader.error("there is text after the end of the array")


def loads(text: str) -> Any:
    """Read a text that is exactly one value; ValueError if it is not JSON, or not exactly one."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(error.msg) from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not _is_text(value):
        raise ValueError("a text with half of a surrogate pair")
    return value


class _Reader:
    """Reads a text value by value, to know the line of each."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._place = 0
        self._line = 1  # of `_place`
        self._is_array = False

    def at_end(self) -> bool:
        content = self._text.content
        end = _BLANK.match(content, self._place).end()  # type: ignore[union-attr] # it always matches
        self._line += content.count("\n", self._place, end)
        self._place = end
        return end == len(content)

    def takes(self, character: str) -> bool:
        if self.at_end() or self._text.content[self._place] != character:
            return False
        self._place += 1
        self._is_array |= character == "["
        return True

    def value(self) -> tuple[int, Any]:
        self.at_end()
        line, begin = self._line, self._place
        try:
            value, end = _DECODER.raw_decode(self._text.content, begin)
        except (ValueError, RecursionError) as error:
            if self._is_half_written():
                raise HalfWrittenError from None
            problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise self.error(f"not JSON: {problem}") from None
        if end - begin > edn.MAX_FORM:
            raise self.error(f"an event of more than {edn.MAX_FORM} characters")
        if "\\u" in self._text.content[begin:end] and not _is_text(value):
            raise self.error("a text with half of a surrogate pair")
        self._line += self._text.content.count("\n", begin, end)
        self._place = end
        return line, value

    def _is_half_written(self) -> bool:
        """Is the rest the beginning of an event on the file's last line?"""
        rest = self._text.content[self._place :]
        return not self._is_array and self._text.is_cut and "\n" not in rest and is_cut_short(rest.encode())

    def error(self, problem: str) -> HistoryError:
        shown = self._text.content[self._place : self._place + 80]
        return HistoryError(self._text.name, self._line, f"{problem}: {shown!r}")


def _is_text(value: Any) -> bool:
    """Is every surrogate in it part of a pair?"""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("an object with a repeated name")
    return built


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} cannot be compared")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)
