"""TOML as text: parsing within limits, the line of each key, and writing changed data."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checkers.text.printable import printable

Key = tuple[str | int, ...]  # ("faults", 0, "at")

MAX_DEPTH = 16
"""The maximum nesting of tables and lists; a target needs four levels."""
_INT64 = 1 << 63  # as TOML has it

HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?$")
ASSIGNMENT = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_CHANGED = "# changed with --set: "
_WIDTH = 100  # columns of a comment
PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


class TooBigError(ValueError):
    """A number is beyond 64 bits; `key` is the place of its value."""

    def __init__(self, key: Key) -> None:
        super().__init__(_TOO_BIG)
        self.key = key


def loads(text: str) -> dict[str, Any]:
    """Parse TOML; ValueError if it exceeds a limit, or is invalid (tomllib.TOMLDecodeError)."""
    if any(key[0].count(".") > _MOST_DOTS for key in _DOTTED.finditer(text)):
        raise ValueError(_TOO_DEEP)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:  # Python parses no number of more than 4,300 digits
        raise ValueError(_TOO_BIG) from None
    _check_limits(data)
    return data


_MOST_DOTS = 200  # of one key: tomllib takes quadratic time for more
_DOTTED = re.compile(
    r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')(?:\s*+\.\s*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+'))*+"""
)
_TOO_DEEP = f"tables or lists are nested deeper than {MAX_DEPTH}"
_TOO_BIG = "a number is beyond 64 bits"


def _check_limits(data: dict[str, Any]) -> None:
    """Check each value without recursion: dotted keys may nest deeper than Python recurses."""
    waiting: list[tuple[Any, Key]] = [(data, ())]
    while waiting:
        value, key = waiting.pop()
        if isinstance(value, dict | list):
            if len(key) > MAX_DEPTH:
                raise ValueError(_TOO_DEEP)
            inside = value.items() if isinstance(value, dict) else enumerate(value)
            waiting.extend((each, (*key, part)) for part, each in inside)
        elif isinstance(value, int) and not -_INT64 <= value < _INT64:
            raise TooBigError(key)


def lines_of_keys(text: str) -> dict[Key, int]:
    """Return the line, counted from 1, of each table header and each key of a valid TOML text.

    Keys inside a value (an inline table, a list) have no line; the line of the enclosing key
    is the nearest.
    """
    lines: dict[Key, int] = {}
    newest: dict[Key, int] = {}  # array of tables → index of its last table so far
    table: Key = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := HEADER.match(line):
            table = _table_of(_parts(header[2]), newest, begins=header[1] == "[[")
            _add(lines, table, number)
        elif assignment := ASSIGNMENT.match(line):
            _add(lines, (*table, *_parts(assignment[1])), number)
    return lines


def with_changes(story: str, changes: Mapping[str, str], data: Mapping[str, Any]) -> str:
    """Write changed data, with the file's description and the changes."""
    head = [f"# {line}" for line in textwrap.wrap(story, _WIDTH)]
    changed = [f"{_CHANGED}{key} = {value}" for key, value in changes.items()]
    return "\n".join([*head, *[""] * bool(head), *changed, *[""] * bool(changed), dumps(data)])


def changed_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the changes in a text that `with_changes` wrote: dotted keys and TOML values."""
    for line in text.splitlines():
        if line.startswith(_CHANGED):
            key, _, value = line.removeprefix(_CHANGED).partition(" = ")
            yield key, value
        elif line and not line.startswith("#"):
            return


def as_dotted(key: Key) -> str:
    """Format a key for `--set`, in one line."""
    return ".".join(str(part) if isinstance(part, int) else _key(part) for part in key)


def dumps(data: Mapping[str, Any]) -> str:
    """Write the data of a target file: strings, numbers, booleans, lists and tables."""
    return "\n".join(_lines((), data)) + "\n"


def _parts(dotted: str) -> Key:
    return tuple(part.strip("\"'") for part in PART.findall(dotted))


def _table_of(parts: Key, newest: dict[Key, int], *, begins: bool) -> Key:
    """Insert the indices into a header's path; `begins` if the header is a `[[...]]`."""
    table: Key = ()
    for position, part in enumerate(parts, start=1):
        table = (*table, part)
        if begins and position == len(parts):
            newest[table] = newest.get(table, -1) + 1
        if table in newest:
            table = (*table, newest[table])
    return table


def _add(lines: dict[Key, int], key: Key, number: int) -> None:
    for length in range(1, len(key) + 1):
        lines.setdefault(key[:length], number)


def _lines(path: tuple[str, ...], data: Mapping[str, Any]) -> Iterator[str]:
    nested = {
        key: value
        for key, value in data.items()
        if isinstance(value, dict)
        or (isinstance(value, Sequence) and value and all(isinstance(item, dict) for item in value))
    }
    for key, value in data.items():
        if key not in nested:
            yield f"{_key(key)} = {literal(value)}"
    for key, value in nested.items():
        header = ".".join(_key(part) for part in (*path, key))
        for table in [value] if isinstance(value, dict) else value:
            yield f"\n[{header}]" if isinstance(value, dict) else f"\n[[{header}]]"
            yield from _lines((*path, key), table)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else literal(name)


def literal(value: object) -> str:
    """Format a value as TOML, in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "".join(map(_seen, json.dumps(value, ensure_ascii=False)))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return str(value)


def _seen(character: str) -> str:
    """Return a character, or its escape if it is not displayed as itself."""
    if character == printable(character):
        return character
    return f"\\U{ord(character):08x}"


def head_comment(text: str) -> str:
    """Return the comment at the head of a file, without the line for editors."""
    head = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    said = (line.removeprefix("#").strip() for line in head if not line.startswith(("#:", _CHANGED)))
    return " ".join(said)
