"""Hiding passwords: in URLs, in assignments to a telling name, and known ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any
from urllib.parse import quote, quote_plus

HIDDEN = "***"

_IN_URL = re.compile(r"""(://[^\s/:@'"]*):[^\s/"]+@|://[^\s/:@'"]{20,}@""")  # so long a user is a token
_NAME = r"(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|credentials?)"
_VALUE = r"""(?!\*{3}:?(?:[\s"',;&]|$))("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|["']?[^\s"',;&]+)"""  # not HIDDEN
_SHOWN = r"""=\s*(?:"\w*"|'\w*')(?=:)"""  # a value in a message, `key = "PGPASSWORD": …`, is no key itself
_ASSIGNED = re.compile(rf"""{_SHOWN}|({_NAME}["']?\s*=\s*|{_NAME}["']\s*:\s*){_VALUE}""", re.IGNORECASE)
_OPTION = re.compile(rf"--?[\w-]{{0,40}}{_NAME}", re.IGNORECASE)
_OF_OPTION = re.compile(rf"""((?<![\w-])--[\w-]{{0,40}}?{_NAME}["']?[\s,]+["']?)[^\s"',\]]+""", re.IGNORECASE)
_ALONE = re.compile(rf"(?:^|[._-]){_NAME}$", re.IGNORECASE)
_DOUBLED = 8  # a backslash may be written up to this often: escaped three times
_SHORT = 6  # characters; shorter ones are hidden as words alone


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """Hide what looks like a password in a text, and known passwords."""
    for password in sorted(filter(None, known), key=len, reverse=True):
        text = _written(password).sub(HIDDEN, text)
    if "://" in text:
        text = _IN_URL.sub(lambda found: f"{found[1] or '://'}:{HIDDEN}@", text)
    if "--" in text:
        text = _OF_OPTION.sub(rf"\1{HIDDEN}", text)
    return _ASSIGNED.sub(lambda found: f"{found[1]}{HIDDEN}" if found[1] else found[0], text)


def redacted_document(document: Any, known: Iterable[str] = ()) -> Any:
    """Hide passwords in all texts of a JSON document."""
    known = tuple(known)
    if isinstance(document, str):
        return redacted(document, known)
    if isinstance(document, dict):
        return {name: redacted_document(value, known) for name, value in document.items()}
    if isinstance(document, list | tuple):
        options = [False, *(isinstance(word, str) and is_option(word) for word in document)]
        words = zip(options, document, strict=False)
        return [HIDDEN if hidden else redacted_document(value, known) for hidden, value in words]
    return document


def names_a_password(name: str) -> bool:
    """Does a key, such as `password` or `db.password`, say that its value is a password?"""
    return bool(_ALONE.search(name))


def has_password(text: str) -> bool:
    """Does a text contain something that `redacted` would hide?"""
    return redacted(text) != text


def is_option(word: str) -> bool:
    """Is a word of a command an option whose value, the next word, is a password?"""
    return bool(_OPTION.fullmatch(word))


@cache
def _written(password: str) -> re.Pattern[str]:
    """Return a pattern for a password as it is, and as JSON, `repr` and URLs write it, also nested."""
    pattern = "".join(map(_in_any_writing, re.findall(r"\\+|[^\\]", password)))
    return re.compile(pattern if len(password) >= _SHORT else rf"(?<!\w){pattern}(?!\w)")


def _in_any_writing(part: str) -> str:
    """Return the pattern of a character, or of a run of backslashes, which each escaping doubles.

    A run is one quantifier with a limit: otherwise a long text of backslashes would take for ever.
    """
    if part.isascii() and part.isalnum():
        return part
    character = part[0]
    literal = re.escape(part)
    octets = character.encode("utf-8", "surrogatepass")
    escapes = {
        json.dumps(character)[1:-1],
        ascii(character)[1:-1],
        repr(octets)[2:-1],
        f"\\u{ord(character):04x}",  # some writers escape even <, > and &
        quote(octets, safe=""),
        quote_plus(octets),
    }
    encoded = "|".join(
        re.escape(each).replace(r"\\", rf"\\{{1,{_DOUBLED}}}")
        for each in sorted(escapes)
        if each.strip("\\") != character.strip("\\")
    )
    escaped = rf"(?:{literal}){{1,{_DOUBLED}}}" if character == "\\" else rf"\\{{0,{_DOUBLED}}}{literal}"
    return rf"(?:{escaped}|(?i:{encoded}){{{len(part)}}})"
