"""The values of a history, made hashable, and equal only if they are the same.

In Python True equals 1, and so does 1.0; a register that held one and returned the
other would look right. So booleans and numbers that are not whole become words. Values
that cannot be compared at all, such as not-a-number, are refused.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from checkers.formats.atoms import Symbol
from checkers.formats.collisions import without_collisions
from checkers.formats.edn import MAX_DEPTH, Tagged, dumps
from checkers.text.printable import shorten

INT64 = 1 << 63
_MOST_SHOWN = 80  # characters


@dataclass(frozen=True, slots=True)
class Map:
    """A map as a value."""

    items: frozenset[tuple[Hashable, Hashable]]


def frozen(value: Any, depth: int = 0) -> Hashable:
    """Return the value as a model can hold it; ValueError beyond a limit, or if it cannot be compared."""
    if value is None or type(value) is str:
        return value
    if depth > MAX_DEPTH:
        raise ValueError(f"a value that is nested deeper than {MAX_DEPTH}")
    match value:
        case bool() | float() | Fraction() | Decimal():
            return _word(value)
        case int() if not -INT64 <= value < INT64:
            raise ValueError(f"a number beyond 64 bits: {value}")
        case tuple() | list():
            return without_collisions(tuple(frozen(item, depth + 1) for item in value))
        case frozenset():
            return frozenset(without_collisions([frozen(item, depth + 1) for item in value]))
        case dict():
            items = [(frozen(key, depth + 1), frozen(item, depth + 1)) for key, item in value.items()]
            return Map(frozenset(without_collisions(items)))
        case Tagged():
            return Tagged(value.tag, frozen(value.value, depth + 1))
    plain: Hashable = value
    return plain


def pair_of(value: Hashable) -> tuple[Hashable, Hashable] | None:
    """Return the two elements of a vector of two."""
    match value:
        case (first, second):
            return first, second
    return None


def thawed(value: Hashable) -> Any:
    """Return the value as written in the file: maps as dicts, sorted, since a `Map` has no order."""
    match value:
        case Map():
            return {thawed(key): thawed(item) for key, item in sorted(value.items, key=in_edn)}
        case tuple():
            return tuple(map(thawed, value))
        case Tagged():
            return Tagged(value.tag, thawed(value.value))
    return value


def written(value: Any, most: int = _MOST_SHOWN) -> str:
    """Format the value for a sentence: as EDN, shortened."""
    try:
        return shorten(in_edn(value), most)
    except RecursionError:
        return "a value that is nested too deep"


def in_edn(value: Any) -> str:
    """Format the value as EDN; maps and sets are sorted."""
    match value:
        case Map():
            return f"{{{', '.join(sorted(f'{in_edn(key)} {in_edn(item)}' for key, item in value.items))}}}"
        case frozenset():
            return f"#{{{' '.join(sorted(map(in_edn, value)))}}}"
        case tuple():
            return f"[{' '.join(map(in_edn, value))}]"
        case Tagged():
            return f"#{value.tag} {in_edn(value.value)}"
    return dumps(value)


def _word(value: float | Fraction | Decimal) -> Symbol:
    """Return a boolean, or a number that is not whole, as a word."""
    if not isinstance(value, Fraction) and not math.isfinite(value):
        raise ValueError(f"{value} cannot be compared")
    return Symbol(dumps(value + 0.0 if isinstance(value, float) else value))  # -0.0 is 0.0
