"""Words for the value of a read, for a lock, and for numbers."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.history.records import Op
from checkers.text.printable import content


def as_read(read: Op) -> str:
    """Name a value and its token; an unwritten resource may have one below all tokens."""
    has_token = read.token is not None and read.token >= 0
    return f"{content(read.value)} with token {read.token}" if has_token else content(read.value)


def lock_on(resource: str) -> str:
    """Name the lock of a resource; the only one of a history that names none is `lock` itself."""
    return "the lock" if resource == "lock" else f"the lock on {resource}"


def times(number: int) -> str:
    """Say how often something happened, if more than once."""
    return "twice" if number == 2 else f"{number} times"  # noqa: PLR2004 - a word of its own


def listed(numbers: Iterable[int]) -> str:
    """List places in the storage's own order."""
    return " and ".join(f"number {number}" for number in numbers)


def capitalized(text: str) -> str:
    """Capitalize the first letter of a sentence, and leave the rest as it is."""
    return text[:1].upper() + text[1:]
