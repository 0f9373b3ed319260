"""What a resource held, in words, and what its lock is called."""

from __future__ import annotations

from checkers.history.records import Value
from checkers.printable import quoted


def content(value: Value) -> str:
    """A value as it is written; a list, which may be long, by what was appended to it last."""
    if value is None:
        return "nothing"
    if not isinstance(value, tuple):
        return quoted(value)
    return f"the list that ends with {quoted(value[-1])}" if value else "the empty list"


def what_was_read(value: Value, token: int | None) -> str:
    """A value and its token; a resource that nobody has written may have one below all tokens."""
    return content(value) if token is None or token < 0 else f"{content(value)} with token {token}"


def lock_on(resource: str) -> str:
    """The lock of a resource; the only one of a history that names none is `lock` itself."""
    return "the lock" if resource == "lock" else f"the lock on {resource}"
