"""A plain ASCII text as arrays, to read numbers and strings at many places at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from checkers.history.columns import Flags, Ints

Words = NDArray[np.uint64]  # eight characters each, the first in the lowest byte; missing characters are 0
_COMPARED = 48  # characters of a string; longer strings are looked up one by one
_PAD: Final = b" " * (_COMPARED + 8)  # words may begin before the text and end after it
_ZERO = ord("0")
_DIGITS = 19  # of the largest integer
_SLOT_BITS = 16
_ALL = (1 << 64) - 1
_FIRST: Final = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)  # keeps n characters
_LAST: Final = np.array([_ALL ^ (_ALL >> 8 * n) for n in range(9)], dtype=np.uint64)
_MIXER: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_SLOT: Final = np.uint64(64 - _SLOT_BITS)
_ONE_UP, _TWO_UP, _FOUR_UP = np.uint64(8), np.uint64(16), np.uint64(32)  # bits of 1, 2 and 4 characters
_ZEROS, _SIX_MORE, _NOT_DIGITS = (np.uint64(0x0101010101010101 * code) for code in (0x30, 0x06, 0xF0))
_PAIRS: Final = np.uint64(0x000000FF000000FF)
_TEN, _UPPER, _LOWER = np.uint64(10), np.uint64(100 + (1_000_000 << 32)), np.uint64(1 + (10_000 << 32))


class IrregularError(Exception):
    """The lines may or may not be valid: only the careful reader, line by line, can decide."""


def require(regular: bool | np.bool_) -> None:  # noqa: FBT001 - it reads as an assertion
    """Raise IrregularError unless the condition holds."""
    if not regular:
        raise IrregularError


class PlainText:
    """A text; a place is an index into `codes`."""

    def __init__(self, text: bytes) -> None:
        """`text` must be ASCII."""
        padded = b"".join((_PAD, text, _PAD))
        self.start = len(_PAD)
        self.codes = np.frombuffer(padded, dtype=np.uint8)
        self._padded = padded
        self._words: Words = np.ndarray(len(padded) - 7, "<u8", padded, strides=1)  # one at each place

    @cached_property
    def _characters(self) -> str:
        return self._padded.decode("ascii")

    def has(self, piece: bytes, places: Ints) -> Flags:
        """At which of the places does this piece begin?"""
        found: Flags = self.codes.take(places) == piece[0]
        for further, code in enumerate(piece[1:], start=1):
            found &= self.codes.take(places + further) == code
        return found

    def words(self, places: Ints, lengths: Ints) -> Words:
        """Return up to eight characters from each place on."""
        return self._words[places] & _FIRST[np.clip(lengths, 0, 8)]

    def integers(self, starts: Ints, ends: Ints) -> Ints:
        """Return the non-negative integers at these places."""
        digits = ends - starts
        most = int(digits.max(initial=0))
        require(most <= _DIGITS and not np.any((self.codes.take(starts) == _ZERO) & (digits > 1)))
        total = np.zeros(len(starts), dtype=np.uint64)
        for behind in range(0, most, 8):
            kept = _LAST[np.clip(digits - behind, 0, 8)]
            words = (self._words[ends - behind - 8] ^ _ZEROS) & kept
            total += _of_eight_digits(words) * np.uint64(10**behind)
        require(np.all(total <= np.iinfo(np.int64).max))
        return total.astype(np.int64)

    def numbers(self, starts: Ints, ends: Ints, table: Mapping[str, int]) -> Ints:
        """Return a table's numbers for the strings at these places; most equal strings are looked up once."""
        lengths = ends - starts
        most = min(int(lengths.max(initial=0)), _COMPARED)
        words = [self.words(starts + at, lengths - at) for at in range(0, most, 8)]
        places = np.arange(len(starts))
        first = _first_in_slot(words, places)
        is_same = (lengths <= _COMPARED) & (lengths == lengths[first])
        for word in words:
            is_same &= word == word[first]
        first = np.where(is_same, first, places)
        asked = np.flatnonzero(first == places)
        bounds = zip(starts[asked].tolist(), ends[asked].tolist(), strict=True)
        texts = [self._characters[start:end] for start, end in bounds]
        found = np.empty(len(starts), dtype=np.int64)
        found[asked] = np.fromiter(map(table.__getitem__, texts), dtype=np.int64, count=len(asked))
        return found[first]


def _of_eight_digits(words: Words) -> Words:
    """Return the numbers of eight decimal digits each, joined in pairs, then in fours, then in eights."""
    require(not np.any((words | (words + _SIX_MORE)) & _NOT_DIGITS))
    pairs = words * _TEN + (words >> _ONE_UP)
    upper = (pairs & _PAIRS) * _UPPER
    lower = (pairs >> _TWO_UP & _PAIRS) * _LOWER
    return (upper + lower) >> _FOUR_UP


def _first_in_slot(words: list[Words], places: Ints) -> Ints:
    """Return, for each string, one that may be equal: the first with the same hash."""
    slots = np.zeros(len(places), dtype=np.uint64)
    for word in words:
        slots = (slots ^ (slots >> _FOUR_UP) ^ word) * _MIXER
    slots >>= _SLOT
    first = np.empty(1 << _SLOT_BITS, dtype=np.int64)
    first[slots[::-1]] = places[::-1]  # the last one written to a slot wins
    return first[slots]
