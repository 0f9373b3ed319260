"""Finding things that occur more than once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def repeated(things: Iterable[T]) -> tuple[T, ...]:
    """Return each thing that occurs more than once, in the order of first occurrences.

    In linear time: a program's line may have a hundred thousand names.
    """
    return tuple(each for each, count in Counter(things).items() if count > 1)
