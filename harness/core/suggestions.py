"""Suggestions for an unknown name."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.text.nearest import nearest


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, or list all; starts with a separator."""
    known = list(known)
    return near_or(name, known, f"there are: {', '.join(known)}")


def near_or(name: str, known: Iterable[str], otherwise: str) -> str:
    """Suggest the nearest known name, or say how to list them, for long lists."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else f"; {otherwise}"
