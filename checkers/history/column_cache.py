"""A cache of the columns of long histories, so that each history is read only once.

The key is the digest of the history's bytes and the version of the reader, which is the digest
of its code: columns of another history, or of another release, are never used. They are trusted
if they are complete and some history can have such columns; this does not detect columns forged
on purpose. So only the user may be able to write to the folder, and it must not have come with
the history.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.resources
import os
import secrets
import stat
import time
import zipfile
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.history.column_checks import is_sound
from checkers.history.columns import ABSENT, FUNCTIONS, OUTCOMES, Columns, Operations
from checkers.history.irregular import require
from checkers.history.records import FaultEvent, Header, History, Value
from checkers.text.limits import COLUMNS, MIB

_ENDING = ".npz"
_UNFINISHED = ".new"
_ABANDONED = 600.0  # s; nothing takes so long to write
_NUMBERED = {"resource": "resources", "owner": "owners", "value": "values", "error": "errors"}
_ARRAYS = (
    *("f", "outcome", "process", "resource", "owner", "value", "token", "called", "returned"),
    *("learned", "ttl", "attempt", "error", "invoked_line", "completed_line"),
)


class _Rest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is not in the arrays."""

    version: str
    digest: str  # of the history's bytes
    started: int
    notices: list[str]  # without the name of the file
    initial: int
    resources: list[str]
    owners: list[str]
    values: list[Value]
    errors: list[str]
    faults: list[FaultEvent]


@functools.cache
def version() -> str:
    """The version of the reader: the digest of the code that reads lines into columns."""
    code = hashlib.sha256()
    for file in sorted(importlib.resources.files("checkers.history").iterdir(), key=lambda each: each.name):
        if file.name.endswith(".py"):
            code.update(file.read_bytes())
    return code.hexdigest()


def digest(history: BufferedReader) -> str:
    """The key of the columns of a history, which stays at its position.

    Raises:
        IrregularError: it has a null byte, as a file with gigabytes of holes has.
    """
    position = history.tell()
    history.seek(0)
    found = hashlib.sha256()
    while piece := history.read(MIB):
        require(b"\0" not in piece)
        found.update(piece)
    history.seek(position)
    return found.hexdigest()


def path_of(folder: Path, of: str) -> Path:
    """The file with the columns of the history with that digest."""
    return folder / f"{of}-{version()[:16]}{_ENDING}"


def keep(folder: Path, of: str, history: History, name: str) -> None:
    """Write the columns of a history, if it has any; evict the oldest others if all are too large.

    `of` is the digest of the history's bytes, and `name` is the name of the file in its
    notices. If the disk is full, only the next read takes longer.
    """
    operations = history.operations
    if not isinstance(operations, Operations):
        return
    columns = operations.columns
    rest = _Rest(
        version=version(),
        digest=of,
        started=history.started,
        notices=[notice.removeprefix(name) for notice in history.notices],
        initial=columns.initial,
        resources=list(columns.resources),
        owners=list(columns.owners),
        values=list(columns.values),
        errors=list(columns.errors),
        faults=list(history.faults),
    )
    arrays: dict[str, Any] = {name: getattr(columns, name) for name in _ARRAYS}
    arrays["rest"] = np.frombuffer(msgspec.json.encode(rest), dtype=np.uint8)
    if sum(array.nbytes for array in arrays.values()) <= COLUMNS:
        with contextlib.suppress(OSError):
            _write(path_of(folder, of), arrays)
            trim(folder)


def _write(path: Path, arrays: dict[str, Any]) -> None:
    new = path.with_name(f".{secrets.token_hex(8)}{_UNFINISHED}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(new, flags, 0o600), "wb") as file:  # noqa: PTH123 (a descriptor)
            np.savez(file, **arrays)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def trim(folder: Path, most: int = COLUMNS) -> None:
    """Remove the least recently used columns until the rest has at most `most` bytes."""
    found = []
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process trims as well
            seen = file.lstat()
            if file.name.endswith(_ENDING):
                found.append((seen.st_mtime_ns, seen.st_size, file))
            elif file.name.endswith(_UNFINISHED) and seen.st_mtime < time.time() - _ABANDONED:
                file.unlink()
    left = sum(size for _, size, _ in found)
    for _, size, file in sorted(found):
        if left <= most:
            return
        file.unlink(missing_ok=True)
        left -= size


def kept(folder: Path, of: str, header: Header, name: str) -> History | None:
    """The history with that digest from its columns; None if there are none that can be trusted."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path_of(folder, of), flags), "rb") as file:  # noqa: PTH123 (a descriptor)
            _check_file(file)
            with np.load(file, allow_pickle=False) as arrays:
                rest = msgspec.json.decode(arrays["rest"].tobytes(), type=_Rest)
                if (rest.version, rest.digest) != (version(), of):
                    return None
                columns = _columns({name: arrays[name] for name in _ARRAYS}, rest)
            os.utime(file.fileno())  # it was used
    except Exception:  # noqa: BLE001 - a damaged archive fails in a dozen ways, all of them for the same reason
        return None
    return History(
        header=header,
        operations=Operations(columns),
        faults=tuple(rest.faults),
        notices=tuple(f"{name}{notice}" for notice in rest.notices),
        started=rest.started,
    )


def _check_file(file: BinaryIO) -> None:
    """Raise ValueError for a file that is not ours, or is compressed."""
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_size > 2 * COLUMNS:
        raise ValueError("not a file that we have written")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
    expected = {f"{name}.npy" for name in (*_ARRAYS, "rest")}
    if {member.filename for member in members} != expected or len(members) != len(expected):
        raise ValueError("the names of the columns are wrong")
    if sum(member.file_size for member in members) > found.st_size:
        raise ValueError("it is compressed")
    file.seek(0)


def _columns(arrays: dict[str, Any], rest: _Rest) -> Columns:
    """The columns, checked.

    Raises:
        ValueError: no history has such columns.
    """
    n = len(arrays["f"])
    for name, array in arrays.items():
        if array.shape != (n,) or array.dtype != (np.int8 if name in {"f", "outcome"} else np.int64):
            raise ValueError(f"{name} is not a column of {n} rows")
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
