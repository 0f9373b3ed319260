"""Changes of single settings: the option `--set`, the keys of [vary], and the copy without a fence."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from checkers.text.printable import without_passwords
from harness.core.errors import ConfigurationError
from harness.spec.models import Target
from harness.spec.toml import MAX_DEPTH, Key, loads

_LONGEST_INDEX = 9  # digits
STALE_WRITE = "stale-write"
SUFFIX = "-unfenced"


def override_one(data: dict[str, Any], option: str) -> tuple[Key, str]:
    """Change one setting, and return its key and the option as shown in messages."""
    dotted, equals, text = option.partition("=")
    key = key_of(dotted.strip())
    shown = without_passwords(option)
    if option.encode(errors="ignore").decode() != option:
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
    return tuple(
        int(part) if part.isascii() and part.isdecimal() and len(part) <= _LONGEST_INDEX else part
        for part in dotted.split(".")
    )


def _value(option: str, text: str) -> object:
    """Parse a TOML value; anything else, such as 10s, is a string."""
    try:
        data = loads(f"value = {text}")
    except tomllib.TOMLDecodeError as error:
        if text[:1] in tuple("[{\"'"):
            raise ConfigurationError(f"--set {option}: is not a TOML value: {error}") from None
        return text
    except ValueError as error:
        raise ConfigurationError(f"--set {option}: {error}") from None
    if len(data) > 1:
        raise ConfigurationError(f"--set {option}: is more than one TOML value")
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


def unfenced_overrides(target: Target) -> tuple[str, ...]:
    """Return the changes that make the unfenced copy of a target; ConfigurationError if it is one.

    Its storage accepts every write, so a run of it must find stale writes. It shows that the fenced run was a
    test, and what the fence prevents.
    """
    if not target.fenced:
        raise ConfigurationError(
            f'{target.name}: storage.fencing is "none" already: '
            "--both takes the fenced target, and runs its unfenced copy too"
        )
    with_it = dict.fromkeys((*target.expected, *target.may))
    if target.workload.kind == "append":
        with_it["lost-update"] = None
    may = [name for name in with_it if name != STALE_WRITE]
    changes = [
        f"name={target.name}{SUFFIX}",
        f"expect={json.dumps([STALE_WRITE])}",
        f"may={json.dumps(may)}",
        "storage.fencing=none",
    ]
    if target.storage.fence_on_acquire:
        changes.append("storage.fence_on_acquire=false")
    if target.require.get("stale_writes_rejected"):
        changes.append("require.stale_writes_rejected=0")
    return tuple(changes)
