"""Untrusted text made safe to show: on a terminal, in JSON, in a page, in a sentence.

A recorded value is whatever a service answered. Printed as it is, it could move the cursor, recolour the
verdict, begin a line of its own, or show its letters in another order. So every character that is not shown
as itself is written as an escape: C0 and C1 controls, newlines, bidirectional controls, zero-width and
unassigned characters, halves of surrogate pairs. So is the one sign that CI servers obey anywhere in a log,
as in `##[error]` and `##vso[…]`; `::error::` they obey only at the start of a line. A long value is cut, and
its length given.

A newline in a value never ends a line: a message is a list of lines, and a finished message is never split.

All functions leave safe text alone, so applying them twice does no harm.
"""

from __future__ import annotations

import json
import re

from checkers.text.redaction import redacted

LONGEST = 200
"""The most characters of a value to show."""
LONGEST_LINE = 5_000
"""The most characters of a whole sentence to show; it may name several values."""
_SEARCHED = 1 << 16
"""The characters of a text that are searched for passwords: many times what is shown of it."""
MOST_LINES = 500
"""The most lines of a message to show."""

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""The invisible characters that `str.isprintable` accepts."""
_NOT_ASCII = re.compile(r"[^ -~\n]+")
_COMMAND_ANYWHERE = re.compile(r"##(?=\w*\[)")
"""The start of a command of GitHub, Azure Pipelines and TeamCity."""
_COMMAND_AT_START = re.compile(r"\A( *):(?=:)")
_BEYOND_8_BITS, _BEYOND_16_BITS = 0x100, 0x10000


def printable(text: str, keep: str = "") -> str:
    r"""Escape what would not be shown as itself: `\x1b`, `\u202e`; the characters of `keep` stay."""
    if not (text.isprintable() and (text.isascii() or not _INVISIBLE.search(text))):
        text = "".join(each if _is_seen(each) or each in keep else _escaped(each) for each in text)
    return _COMMAND_ANYWHERE.sub(r"#\\x23", text) if "##" in text else text


def shorten(text: str, most: int = LONGEST) -> str:
    """Escape a text and show at most `most` of its characters: "… (1,048,576 characters)"."""
    if len(text) <= most:
        return printable(text)
    return f"{printable(text[:most])}… ({len(text):,} characters)"


def quoted(value: object, most: int = LONGEST) -> str:
    """Format a value as Python writes it, a text in quotes; shortened."""
    if not isinstance(value, str):
        return shorten(repr(value), most)
    more = f"… ({len(value):,} characters)" if len(value) > most else ""
    return printable(repr(value[:most])) + more


def without_passwords(text: str, most: int = LONGEST) -> str:
    """Do the same as `shorten`, and hide passwords."""
    if len(text) <= _SEARCHED:
        return shorten(redacted(text), most)
    return f"{printable(redacted(text[:_SEARCHED])[:most])}… ({len(text):,} characters)"


def line(text: str) -> str:
    """Make one line of a message safe: no passwords, escaped, shortened, and no command to a CI server."""
    return _COMMAND_AT_START.sub(r"\1\\x3a", without_passwords(text, LONGEST_LINE))


def message(*lines: str) -> str:
    """Join lines to a message, each made safe by `line`; a newline within one is escaped like any other."""
    more = [f"… and {len(lines) - MOST_LINES:,} more lines"] * (len(lines) > MOST_LINES)
    return "\n".join([*map(line, lines[:MOST_LINES]), *more])


def quotation(text: str) -> tuple[str, ...]:
    """Return the lines of a log or another long text, marked so that none passes for one of ours."""
    return tuple(f"  | {each}".rstrip() for each in text.splitlines())


def naming(sentence: str, *names: str | None) -> str:
    """Shorten each name wherever a sentence has it, and escape the whole sentence."""
    for name in sorted((name for name in names if name and len(name) > LONGEST), key=len, reverse=True):
        sentence = sentence.replace(name, shorten(name))
    return shorten(sentence, LONGEST_LINE)


def as_json(document: object, indent: int | None = None) -> str:
    r"""Write JSON with an escape such as `\u202e` for what would not be shown as itself."""
    return in_16_bits(json.dumps(document, ensure_ascii=False, indent=indent))


def in_16_bits(text: str) -> str:
    r"""Escape as in JSON and EDN, beyond 16 bits in two halves: `\udb40\udc01`; newlines stay."""
    if not (text.isascii() and text.isprintable()):
        text = _NOT_ASCII.sub(_seen_in_16_bits, text)
    return _COMMAND_ANYWHERE.sub(r"#\\u0023", text) if "##" in text else text


def _seen_in_16_bits(found: re.Match[str]) -> str:
    return "".join(each if _is_seen(each) else json.dumps(each)[1:-1] for each in found[0])


def _is_seen(character: str) -> bool:
    return character.isprintable() and not _INVISIBLE.match(character)


def _escaped(character: str) -> str:
    code = ord(character)
    if character in "\n\r\t":
        return repr(character)[1:-1]
    if code < _BEYOND_8_BITS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _BEYOND_16_BITS else f"\\U{code:08x}"


def request(f: str) -> str:
    """Name a request to a lock service, as a noun."""
    return "renewal" if f == "renew" else f


def content(value: object) -> str:
    """Format a value as it is written; a list, which may be long, by its last element."""
    if value is None:
        return "nothing"
    if not isinstance(value, tuple):
        return quoted(value)
    return f"the list that ends with {quoted(value[-1])}" if value else "the empty list"
