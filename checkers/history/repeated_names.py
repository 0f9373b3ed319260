r"""Objects with a repeated name: JSON does not define which one counts, so such lines are refused.

The decoder silently takes the last one. A decoded line has each name once; if the text has
more names, one is repeated. A name is a string before a colon, with only white space in
between, so without such a gap each name ends in `":`. A string can contain that too, as
`\\":`: then the line is checked again, slowly and exactly.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

_GAP = re.compile(rb'"[ \t\r\n]+:')
_ANY = msgspec.json.Decoder()
_QUOTE, _COLON, _NEWLINE, _BLANK = b'":\n '  # valid JSON has no byte below the blank but white space

_NAMES = ["time", "process", "type", "f", "resource", "owner", "token", "value", "error", "ttl", "attempt"]
_OTHER = 1 << len(_NAMES)


def _bits() -> NDArray[np.int32]:
    """A bit for the last two bytes of a name: our own names have one each, all others share one."""
    bits = np.full(1 << 16, _OTHER, dtype=np.int32)
    for number, name in enumerate(_NAMES):
        before_last, last = f'"{name}'.encode()[-2:]
        bits[before_last << 8 | last] = 1 << number
    return bits


_BITS = _bits()


def repeats_a_name(line: bytes) -> bool:
    """Does an object, which must be valid JSON, or one within it, repeat a name?"""
    decoded = msgspec.json.decode(line)
    if _has_names(line, len(decoded)) or _has_names(line, _names_in(decoded)):
        return False
    try:
        json.loads(line, object_pairs_hook=_once, parse_int=str)
    except _TwiceError:
        return True
    return False


def none_repeats_a_name(lines: bytes) -> bool:
    """Is it certain that no line, each one object of valid JSON, repeats a name?"""
    return _has_names(lines, sum(map(len, _ANY.decode_lines(lines))))


def _names_in(decoded: object) -> int:
    names, left = 0, [decoded]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            names += len(each)
            left += each.values()
        elif isinstance(each, list):
            left += each
    return names


def _has_names(text: bytes, count: int) -> bool:
    """Has a text no more names than `count`?"""
    return text.count(b'":') == count and not (
        (b'" ' in text or b'"\t' in text or b'"\r' in text or b'"\n' in text) and _GAP.search(text)
    )


def may_repeat_a_name(lines: bytes) -> bool:
    """Might one of many lines, each one object of valid JSON, repeat a name?

    False is certain; True is not, since unknown names look alike.
    """
    text = np.frombuffer(lines, dtype=np.uint8)
    colons = text[1:] == _COLON
    if np.any(colons & (text[:-1] <= _BLANK)) and _GAP.search(lines):
        return True
    marks = np.flatnonzero((colons & (text[:-1] == _QUOTE)) | (text[1:] == _NEWLINE))
    ends = np.flatnonzero(text.take(marks + 1) == _NEWLINE)
    last_two = text.take(marks - 2).astype(np.uint16) << 8 | text.take(marks - 1)
    bits = _BITS.take(last_two)
    bits[ends] = 0
    if b"\\u" in lines and np.any(bits == _OTHER):
        return True  # one of ours, perhaps, in other letters
    starts = np.concatenate(([0], ends[:-1] + 1))
    return bool(np.any(np.add.reduceat(bits, starts) != np.bitwise_or.reduceat(bits, starts)))


class _TwiceError(Exception):
    """A name occurs twice in an object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) < len(pairs):
        raise _TwiceError
    return built
