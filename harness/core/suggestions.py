"""The nearest known name to one that is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.nearest import nearest


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Say which known name is nearest, else all of them; begins with a separator."""
    known = list(known)
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else f"; there are: {', '.join(known)}"


def near_or(name: str, known: Iterable[str], otherwise: str) -> str:
    """Say which known name is nearest, else what lists them: for names of which there are many."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else f"; {otherwise}"
