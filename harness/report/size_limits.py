"""Cuts the parts of a received folder that are too large for a page, and says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import msgspec

from checkers.text.printable import shorten
from harness.report.environment_facts import Environment
from harness.report.recorded_run import RecordedRun

_MOST = 100  # entries of a list or a table
_MOST_STEPS = 50
_MOST_TEXT = 1_000  # characters
_MOST_TARGET = 100_000  # characters
_CUT = "This folder is too large for a page: parts of it were cut."

Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
Document = TypeVar("Document", bound=msgspec.Struct)


def trimmed(recorded: RecordedRun) -> RecordedRun:
    """The same, with only the beginning of each list and of each text."""
    target = recorded.target_file
    return replace(
        recorded,
        verdict=_document(recorded.verdict),
        plan=_document(recorded.plan),
        environment=_environment(recorded.environment),
        target_file=None if target is None else target[:_MOST_TARGET],
        problems=(*map(_text, recorded.problems[:_MOST]), _CUT),
    )


def _document(document: Document) -> Document:
    return msgspec.convert(_part(msgspec.to_builtins(document)), type(document))


def _environment(environment: Environment) -> Environment:
    how = environment.repetition
    return replace(
        environment,
        repetition=replace(how, options=_texts(how.options[:_MOST_STEPS])),
        columns=_texts(environment.columns[:_MOST]),
        servers=tuple(_texts(row[: _MOST + 1]) for row in environment.servers[:_MOST]),
        facts=tuple((_text(title), _text(fact)) for title, fact in environment.facts[:_MOST]),
    )


def _part(value: Json) -> Json:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(name): _part(each) for name, each in list(value.items())[:_MOST]}
    if isinstance(value, list):
        most = _MOST_STEPS if value and isinstance(value[0], str) else _MOST
        return [_part(each) for each in value[:most]]
    return value


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_text, texts))


def _text(text: str) -> str:
    return shorten(text, _MOST_TEXT)
