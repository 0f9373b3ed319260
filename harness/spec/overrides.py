"""Changes of single settings: the option `--set`, and the keys of [vary]."""

from __future__ import annotations

import tomllib
from typing import Any

from checkers.text.printable import without_passwords
from harness.core.errors import ConfigurationError
from harness.spec.toml import MAX_DEPTH, Key, loads

_LONGEST_INDEX = 9  # digits


def override_one(data: dict[str, Any], option: str) -> tuple[Key, str]:
    """Change one setting, and return its key and the option as shown in messages."""
    dotted, equals, text = option.partition("=")
    key = key_of(dotted.strip())
    shown = without_passwords(option)
    if not _is_utf_8(option):
        raise ConfigurationError(f"--set {shown}: is not UTF-8")
    if not equals or "" in key:
        raise ConfigurationError(f"--set {shown}: write it as key=value, such as workload.clients=10")
    if len(key) > MAX_DEPTH:
        raise ConfigurationError(f"--set {shown}: the key has more than {MAX_DEPTH} parts")
    if not set_at(data, key, _value(shown, text.strip())):
        raise ConfigurationError(f"--set {shown}: the target has no such key")
    return key, shown


def key_of(dotted: str) -> Key:
    """Parse a dotted key, such as faults.0.at."""
    return tuple(map(_part, dotted.split(".")))


def _is_utf_8(word: str) -> bool:
    """Is a word of the command line valid UTF-8?"""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _part(text: str) -> str | int:
    """Parse a part of a dotted key; short digits are an index."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_INDEX else text


def _value(option: str, text: str) -> object:
    """Parse a TOML value; anything else, such as 10s, is a string."""
    try:
        return _only(loads(f"value = {text}"))
    except tomllib.TOMLDecodeError as error:
        if text[:1] in tuple("[{\"'"):
            raise ConfigurationError(f"--set {option}: is not a TOML value: {error}") from None
        return text
    except ValueError as error:
        raise ConfigurationError(f"--set {option}: {error}") from None


def _only(data: dict[str, Any]) -> object:
    if len(data) > 1:
        raise ValueError("is more than one TOML value")
    return data["value"]


def set_at(data: dict[str, Any], key: Key, value: object) -> bool:
    """Change one setting; False if there is no place for it."""
    place: Any = data
    for part in key[:-1]:
        if isinstance(place, dict) and (str(part) in place or not isinstance(part, int)):
            place = place.setdefault(str(part), {})
        elif isinstance(place, list) and isinstance(part, int) and part < len(place):
            place = place[part]
        else:
            place = None
    last = key[-1]
    if isinstance(place, dict):
        place[str(last)] = value
    elif isinstance(place, list) and isinstance(last, int) and last < len(place):
        place[last] = value
    else:
        return False
    return True
