r"""Objects with a repeated name: JSON does not define which value counts, so such lines are refused.

The decoder silently takes the last value. A decoded line has each name once, so if the text
has more names, one is repeated. A name is a string before a colon, with at most white space in
between; if there is none, each name ends in `":`. A string can also contain that, as `\\":`.
Such a line is checked again, slowly and exactly.
"""

from __future__ import annotations

import json
import re

import msgspec

_GAP = re.compile(rb'"[ \t\r\n]+:')
_ANY = msgspec.json.Decoder()


def repeats_a_name(line: bytes) -> bool:
    """Does an object in a line of valid JSON repeat a name?"""
    decoded = msgspec.json.decode(line)
    if _has_names(line, len(decoded)) or _has_names(line, _names_in(decoded)):
        return False
    repeated: list[bool] = []
    json.loads(
        line, object_pairs_hook=lambda pairs: repeated.append(len(dict(pairs)) < len(pairs)), parse_int=str
    )
    return any(repeated)


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
    """Is it certain that a text has no more names than `count`?"""
    return text.count(b'":') == count and not (
        (b'" ' in text or b'"\t' in text or b'"\r' in text or b'"\n' in text) and _GAP.search(text)
    )
