"""Where a run took place, from environment.json: everything that the engine wrote is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.invocation import NOTHING_ELSE, Command, Repetition
from harness.files.environment import repetition_of
from harness.report.sentences import title

_TITLES = {
    "fencepost": "Fencepost",
    "cpus": "CPUs",
    "command": "Started with",
    "folder": "Started in",
    "pythonpath": "PYTHONPATH",
}
_ELSEWHERE = {"servers", "images", "began", "again"}
"""Already shown in the table, at the head of the page, or with the commands."""
_FIRST = ("fencepost", "git_commit", "engine", "command")


_EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is known about where and how a run took place."""

    began: str = ""  # ISO 8601
    engine: str = ""
    repetition: Repetition = NOTHING_ELSE
    columns: tuple[str, ...] = ()  # of the table of servers, without the column of names
    servers: tuple[tuple[str, ...], ...] = ()  # one row each, starting with the name
    facts: tuple[tuple[str, str], ...] = ()  # the rest, by title


def surroundings(environment: Mapping[str, Any]) -> Environment:
    """Split environment.json into servers, by their names, and other facts."""
    about = _mapping(environment.get("servers"))
    images = _mapping(environment.get("images"))
    servers = {name: _server(about.get(name), images.get(name)) for name in sorted({*about, *images})}
    columns = tuple(dict.fromkeys(key for server in servers.values() for key in server))
    engine = environment.get("engine")
    name = engine.get("name") if isinstance(engine, Mapping) else engine
    return Environment(
        began=_plain(environment.get("began", "")),
        engine=_plain(name) if name else "",
        repetition=repetition_of(environment),
        columns=columns,
        servers=tuple(
            (name, *(server.get(column, "") for column in columns)) for name, server in servers.items()
        ),
        facts=tuple(_facts(environment)),
    )


def _server(about: Any, image: Any) -> dict[str, str]:
    """What is known about one server; an image's registry digest is better than its local id."""
    known = dict(_mapping(about))
    image = dict(_mapping(image))
    if image:
        known["image"] = image.get("name")
        known["digest"] = image.get("digests") or image.get("id")
    return {key: _plain(value) for key, value in known.items() if value}


def _facts(environment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = [*_FIRST, *(name for name in environment if name not in _FIRST)]
    for name in names:
        value = environment.get(name)
        if name not in _ELSEWHERE and value not in _EMPTY:
            shown = (
                str(Command(words=tuple(map(str, value))))
                if name == "command" and isinstance(value, list)
                else _plain(value)
            )
            yield _TITLES.get(name, title(name)), shown


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(each)}" for key, each in value.items() if each not in _EMPTY)
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
