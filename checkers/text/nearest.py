"""Names: the known one that is most similar to another ("did you mean …?"), and those that are repeated."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeVar

_LONGEST = 200  # characters; a longer name is no typo, and slow to compare


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` probably means, if any is similar."""
    near = difflib.get_close_matches(name, list(known), n=1) if len(name) <= _LONGEST else []
    return near[0] if near else None


T = TypeVar("T", bound=Hashable)


def repeated(things: Iterable[T]) -> tuple[T, ...]:
    """Return each thing that occurs more than once, in the order of first occurrences.

    In linear time: a program's line may have a hundred thousand names.
    """
    return tuple(each for each, count in Counter(things).items() if count > 1)
