"""The most frequent error of several operations: of one kind, even if the values in their messages differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from checkers.history.records import RAISED

_AT_A_PLACE = re.compile(rf"{RAISED}(\w+)\b.* \((.+:\d+), in .+\)", re.DOTALL)


class Frequent(NamedTuple):
    """An error, and how often it came with the same type from the same place."""

    kind: tuple[str, ...]
    example: str  # the first one
    times: int


def most_frequent(errors: Iterable[str]) -> Frequent | None:
    """Return the most frequent of some errors; None if there are none."""
    examples: dict[tuple[str, ...], str] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for error, number in Counter(errors).items():
        kind = kind_of(error)
        examples.setdefault(kind, error)
        times[kind] += number
    return next((Frequent(kind, examples[kind], number) for kind, number in times.most_common(1)), None)


def kind_of(error: str) -> tuple[str, ...]:
    """Return an error's type and place, if it has both; or else its text."""
    known = _AT_A_PLACE.fullmatch(error)
    return known.groups() if known else (error,)
