"""Passwords of the user's own services: a target names where one is, and never contains it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checkers.history.files import read_bytes
from checkers.text.errors import HistoryError
from checkers.text.redaction import has_password, is_option, names_a_password
from harness.core.errors import ConfigurationError
from harness.spec.attached import GENERATED, PASSWORDS
from harness.spec.fields import kind_of
from harness.spec.locks import LOCKS
from harness.spec.sides import Side
from harness.spec.storages import STORAGES
from harness.spec.toml import Key

REMEDY = (
    "a password does not belong in a target file: name the environment variable that has it, "
    'password_env = "…", or the file, password_file = "…"'
)
REMEDY_OF_COMMAND = (
    "a password does not belong in a target file: set an environment variable, which the program inherits"
)
REMEDIES = (REMEDY, REMEDY_OF_COMMAND)
NONE = "this kind takes no password: remove the key"
_NAMING = set(PASSWORDS)
_SIDES: Mapping[str, Mapping[str, type[Side]]] = {"lock": LOCKS, "storage": STORAGES}
_MOST = 1 << 16  # bytes of a file


def literal_passwords(data: Mapping[str, Any]) -> Iterator[tuple[Key, str]]:
    """Yield every key of a target file whose value contains a password, and the remedy."""
    waiting: list[tuple[Key, Any]] = [((), data)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*key, name), each) for name, each in value.items()]
        elif key == ("client", "command") and isinstance(value, list):
            if _has_password(value):
                yield key, REMEDY_OF_COMMAND
        elif isinstance(value, list):
            waiting += [((*key, place), each) for place, each in enumerate(value)]
        elif isinstance(value, str) and _says_a_password(key, value) and needless(key, data) is None:
            yield key, REMEDY


def needless(key: Key, data: Mapping[str, Any]) -> str | None:
    """Say why a password key must be removed if its section's kind takes none; otherwise None."""
    if len(key) != 2 or not (key[1] in _NAMING or names_a_password(str(key[1]))):  # noqa: PLR2004 - section, key
        return None
    side = str(key[0])
    kind = kind_of(data.get(side))
    model = _SIDES[side].get(kind) if side in _SIDES and isinstance(kind, str) else None
    if model is None:
        return None
    if _NAMING & model.model_fields.keys():
        started = model.model_fields["running"].alias == "servers" and "servers" not in data[side]
        return GENERATED if started else None
    return GENERATED if model.has_servers else NONE


def _says_a_password(key: Key, value: str) -> bool:
    return has_password(value) or bool(value and names_a_password(str(key[-1])))


def _has_password(command: list[Any]) -> bool:
    """Does a command contain a password, as `--password=x`, `--password x`, or in a URL?"""
    words = [str(word) for word in command]
    return any(map(has_password, words)) or any(map(is_option, words[:-1]))


def password_of(section: Any, name: str) -> str:
    """Return the password that a section names, or ""; ConfigurationError if it is missing or empty."""
    variable, file = getattr(section, "password_env", None), getattr(section, "password_file", None)
    if variable is not None:
        if not os.environ.get(variable):
            raise ConfigurationError(
                f"{name}.password_env: {variable} is not set, or is empty: export it, or name another"
            )
        return os.environ[variable]
    return _in_file(Path(file), name) if file is not None else ""


def _in_file(path: Path, name: str) -> str:
    try:
        password = read_bytes(path, _MOST).decode().rstrip("\r\n")
    except (HistoryError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name}.password_file: {error}") from None
    if not password:
        raise ConfigurationError(f"{name}.password_file: {path} is empty")
    return password
