"""What a resource held, in words."""

from __future__ import annotations

from checkers.records import Value


def content(value: Value) -> str:
    """A value as it is written; a list, which may be long, by what was appended to it last."""
    if not isinstance(value, tuple):
        return repr(value)
    return f"the list that ends with {value[-1]!r}" if value else "the empty list"
