"""Marks of fences, as they are defined."""

from __future__ import annotations


def is_stale(token: int, mark: float, *, strict: bool) -> bool:
    """Would a fence at this mark refuse the token?"""
    return token <= mark if strict else token < mark
