"""Columns of a long history, kept beside it so that it is read but once.

They are believed only if they say that they were made of exactly these bytes, by
this version of the reader, if they are whole, and if some history can have such
columns; else they are as good as absent. What they cannot show is that nobody
wrote other columns on purpose: whoever can do that can change the history, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.columnar.columns import ABSENT, FUNCTIONS, OUTCOMES, Columns, Operations
from checkers.reading.column_checks import is_sound
from checkers.records import FaultEvent, Header, History, Value

NAME = "columns.npz"
_VERSION = 3  # of the file and of what the reader makes of a line
_NUMBERED = {"resource": "resources", "owner": "owners", "value": "values", "error": "errors"}
_ARRAYS = (
    *("f", "outcome", "process", "resource", "owner", "value", "token", "called", "returned"),
    *("learned", "ttl", "attempt", "error", "invoked_line", "completed_line"),
)


class _Rest(msgspec.Struct, frozen=True, kw_only=True):
    """What the arrays do not say."""

    version: int
    digest: str  # of the history's bytes
    started: int
    notices: list[str]  # without the name of the file
    initial: int
    resources: list[str]
    owners: list[str]
    values: list[Value]
    errors: list[str]
    faults: list[FaultEvent]


def digest(history: Path) -> str:
    """What the columns of a history are recognised by."""
    with history.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keep(history: History, path: Path, of: str) -> None:
    """Write the columns of the history at `path` beside it, if it has any.

    `of` is the digest of the bytes that they were made of. A disk that takes no
    more costs the next reading its time, and nothing else.
    """
    operations = history.operations
    if not isinstance(operations, Operations):
        return
    columns = operations.columns
    rest = _Rest(
        version=_VERSION,
        digest=of,
        started=history.started,
        notices=[notice.removeprefix(str(path)) for notice in history.notices],
        initial=columns.initial,
        resources=list(columns.resources),
        owners=list(columns.owners),
        values=list(columns.values),
        errors=list(columns.errors),
        faults=list(history.faults),
    )
    arrays: dict[str, Any] = {name: getattr(columns, name) for name in _ARRAYS}
    new = path.with_name(f".{NAME}.new")
    with contextlib.suppress(OSError), new.open("wb") as file:
        np.savez(file, rest=np.frombuffer(msgspec.json.encode(rest), dtype=np.uint8), **arrays)
        file.flush()
        os.fsync(file.fileno())
        new.replace(path.with_name(NAME))


def kept(path: Path, header: Header) -> History | None:
    """The history at `path` from the columns beside it; None if there are none to be believed."""
    cache = path.with_name(NAME)
    try:
        with cache.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            rest = msgspec.json.decode(arrays["rest"].tobytes(), type=_Rest)
            if (rest.version, rest.digest) != (_VERSION, digest(path)):
                return None
            columns = _columns({name: arrays[name] for name in _ARRAYS}, rest)
    except Exception:  # noqa: BLE001 - a damaged archive fails in a dozen ways, all of them for the same reason
        return None
    return History(
        header=header,
        operations=Operations(columns),
        faults=tuple(rest.faults),
        notices=tuple(f"{path}{notice}" for notice in rest.notices),
        started=rest.started,
    )


def _columns(arrays: dict[str, Any], rest: _Rest) -> Columns:
    """The columns, if they can be some.

    Raises:
        ValueError: they cannot.
    """
    n = len(arrays["f"])
    for name, array in arrays.items():
        if array.shape != (n,) or array.dtype != (np.int8 if name in {"f", "outcome"} else np.int64):
            raise ValueError(f"{name} is no column of {n} rows")
    _check_numbers(arrays["f"], len(FUNCTIONS))
    _check_numbers(arrays["outcome"], len(OUTCOMES))
    for name, table in _NUMBERED.items():
        numbers = arrays[name]
        required = name in {"resource", "value"}
        _check_numbers(numbers if required else numbers[numbers != ABSENT], len(getattr(rest, table)))
    columns = Columns(
        **arrays,
        resources=rest.resources,
        owners=rest.owners,
        values=rest.values,
        errors=rest.errors,
        initial=rest.initial,
    )
    if not is_sound(columns, len(rest.faults) + len(rest.notices)):
        raise ValueError("no history has such columns")
    return columns


def _check_numbers(numbers: NDArray[Any], end: int) -> None:
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < end:
        raise ValueError("a number beyond its table")
