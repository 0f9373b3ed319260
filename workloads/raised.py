"""Errors that a user's code raised, in words: what it was, and where."""

from __future__ import annotations

from pathlib import Path, PurePath
from traceback import FrameSummary, extract_tb

_OURS = tuple(str(Path(__file__).parents[1] / each) for each in ("checkers", "harness", "workloads"))


def described(error: BaseException) -> str:
    """Describe an error, and where it was raised: "ValueError: no host (mine.py:12, in acquire)"."""
    said = " ".join(str(error).split())
    place = next((each for each in reversed(extract_tb(error.__traceback__)) if not _is_ours(each)), None)
    where = f" ({PurePath(place.filename).name}:{place.lineno}, in {place.name})" if place else ""
    return f"{type(error).__name__}{f': {said}' if said else ''}{where}"


def is_mistake(error: BaseException) -> bool:
    """Is it one of Python's own errors, which a client library does not raise on purpose?"""
    return type(error).__module__ == "builtins" and not isinstance(error, OSError)


def _is_ours(frame: FrameSummary) -> bool:
    return frame.filename.startswith((*_OURS, "<"))
