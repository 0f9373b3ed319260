"""The most frequent error of several operations: of one kind, even if the values in their messages differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

_VALUES = re.compile(r"(?<!\.py:)\b\w*\d\w*(?:\.\d+)*")
"""What changes from one error to the next: words with digits, but for a line of a Python file."""


class Frequent(NamedTuple):
    """An error, and how often it came, whatever the values in it."""

    kind: str
    example: str  # the first one
    times: int


def most_frequent(errors: Iterable[str]) -> Frequent | None:
    """Return the most frequent of some errors; None if there are none."""
    examples: dict[str, str] = {}
    times: Counter[str] = Counter()
    for error, number in Counter(errors).items():
        kind = kind_of(error)
        examples.setdefault(kind, error)
        times[kind] += number
    return next((Frequent(kind, examples[kind], number) for kind, number in times.most_common(1)), None)


def kind_of(error: str) -> str:
    """Return an error without the values that change from one to the next."""
    return _VALUES.sub("…", error)
