"""The atoms of EDN: words, numbers, strings and characters.

Numbers are Clojure's: also ratios, exact decimals (`1.50M`), and
whole numbers in other bases, such as the `0x1f` of an object printed into a history.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from fractions import Fraction

from checkers.text.printable import in_16_bits

MAX_DIGITS = 64
Number = int | float | Fraction | Decimal

_INTEGER = re.compile(
    r"([+-]?)(?:(0|[1-9][0-9]*)|0[xX]([0-9A-Fa-f]+)|0([0-7]+)|([2-9]|[12][0-9]|3[0-6])[rR]([0-9A-Za-z]+))N?"
)
_FLOAT = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?M?")
_RATIO = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|[0-3]?[0-7]{1,2}|.)", re.DOTALL)
_DIGITS = "0123456789"
_SURROGATES = range(0xD800, 0xE000)
_FEW_DIGITS = 19  # enough for any 64 bits
_CODE = re.compile(r"u([0-9A-Fa-f]{4})")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "b": "\b", "f": "\f"}
CHARACTERS = {"newline": "\n", "return": "\r", "space": " ", "tab": "\t", "formfeed": "\f", "backspace": "\b"}
"""The characters that have a name."""

_SYMBOLIC = {"##Inf": math.inf, "##-Inf": -math.inf, "##NaN": math.nan}
_WORDS = {"nil": None, "true": True, "false": False, **_SYMBOLIC}


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword, such as `:invoke`; the name is without its colon."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f":{self.name}"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol: a bare word."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Char:
    r"""One character, such as `\\a`."""

    text: str


Atom = bool | Number | Keyword | Symbol | None


def word(text: str) -> Atom:
    """Read nil, a boolean, a number, a keyword or a symbol; ValueError if it is none."""
    if text.isascii() and text.isdecimal() and len(text) < _FEW_DIGITS and text[0] != "0":
        return int(text)  # the same result as below, but faster
    return _word(text)


def string(text: str) -> str:
    """Read a string in its quotes; ValueError for an escape that EDN lacks, or half of a surrogate pair."""
    if "\\" not in text:
        return text[1:-1]
    try:
        plain = _ESCAPE.sub(_unescape, text[1:-1])
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except ValueError:  # UnicodeDecodeError too
        raise ValueError(f"a string with an escape that EDN does not have: {text[:40]}") from None


def quoted(text: str) -> str:
    """Quote a string."""
    for character in '\\"':
        text = text.replace(character, "\\" + character)
    for name in "ntr":
        text = text.replace(_ESCAPES[name], "\\" + name)
    return f'"{in_16_bits(text)}"'


def character(text: str) -> Char:
    r"""Read a character after its backslash, such as the `a` of `\\a` or `newline`.

    Raises:
        ValueError: there is none of that name.
    """
    if len(text) == 1:
        return Char(text)
    if text in CHARACTERS:
        return Char(CHARACTERS[text])
    code = _CODE.fullmatch(text)
    if code is None:
        raise ValueError(f"\\{text[:40]} is not a character")
    if int(code[1], 16) in _SURROGATES:
        raise ValueError(f"\\{text} is half of a surrogate pair, not a character")
    return Char(chr(int(code[1], 16)))


def named(one: Char) -> str:
    """Write a character after its backslash."""
    name = next((name for name, text in CHARACTERS.items() if text == one.text), one.text)
    escaped = in_16_bits(name)
    return escaped if escaped != name else f"\\{name}"


@functools.lru_cache(maxsize=1 << 14)
def _word(text: str) -> Atom:
    if text in _WORDS:
        return _WORDS[text]
    first = text.lstrip("+-")[:1]
    if first in _DIGITS and first:
        return _number(text)
    if text.startswith("##"):
        raise ValueError(f"{text[:40]} is no symbolic value")
    if not text.startswith(":"):
        return Symbol(text)
    if len(text) == 1 or text[1] == ":":
        raise ValueError(f"{text[:40]!r} is no keyword")
    return Keyword(text[1:])


def _number(text: str) -> Number:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} characters: {text[:20]}…")
    try:
        if found := _INTEGER.fullmatch(text):
            sign, decimal, hexadecimal, octal, base, digits = found.groups()
            if base:
                return int(sign + digits, int(base))
            return int(sign + (decimal or hexadecimal or octal), 10 if decimal else 16 if hexadecimal else 8)
        if _FLOAT.fullmatch(text):
            return Decimal(text[:-1]) if text.endswith("M") else float(text)
        if found := _RATIO.fullmatch(text):
            ratio = Fraction(int(found[1]), int(found[2]))
            return ratio.numerator if ratio.denominator == 1 else ratio
    except (ValueError, ZeroDivisionError, DecimalException):
        pass  # no such base, or a digit that it does not have; a division by 0; an exponent beyond 18 digits
    raise ValueError(f"{text!r} is no number")


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] == "u" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in _DIGITS:
        return chr(int(code, 8))
    if code not in _ESCAPES:
        raise ValueError(code)
    return _ESCAPES[code]
