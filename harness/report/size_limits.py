"""What a received folder has too much of for a page: cut, and said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from checkers.printable import shorten
from harness.report.recorded_run import Recorded

_MOST = 100  # entries of a list or a table
_MOST_STEPS = 50
_MOST_TEXT = 1_000  # characters
_MOST_TARGET = 100_000  # characters
_CUT = "This folder is too large for a page: much is cut."


def trimmed(recorded: Recorded) -> Recorded:
    """The same, with the beginning of each list and of each text alone."""
    verdict = {name: _part(value) for name, value in recorded.verdict.items()}
    target = recorded.target_file
    return replace(
        recorded,
        verdict=verdict,
        plan=_part(recorded.plan),
        environment=_part(recorded.environment),
        target_file=None if target is None else target[:_MOST_TARGET],
        problems=(
            *map(_text, recorded.problems[:_MOST]),
            _CUT,
        ),
    )


def _part(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return {_text(name): _part(each) for name, each in _first(value.items(), _MOST)}
    if isinstance(value, list | tuple):
        most = _MOST_STEPS if value and isinstance(value[0], str) else _MOST
        return [_part(each) for each in _first(value, most)]
    return value


def _first(values: Iterable[Any], most: int) -> list[Any]:
    return [value for _, value in zip(range(most), values, strict=False)]


def _text(text: str) -> str:
    return shorten(text, _MOST_TEXT)
