"""What is read from the results of all nights, which may have been made by hand or by somebody else.

SQLite takes any value in any column, so each row is checked.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from checkers.text.printable import quoted
from harness.campaign.replay import Replay, stored_replay
from harness.campaign.status import RunOutcome
from harness.core.errors import ConfigurationError
from harness.files.received import component
from harness.report.first_finding import FINGERPRINT_PATTERN

T = TypeVar("T")
MOST_STORED = 16 << 20  # bytes of a history; a longer one stays in its folder only
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


@dataclass(frozen=True, slots=True)
class Seed:
    """The fastest run that failed with a fingerprint. It is kept permanently."""

    fingerprint: str
    cell: str
    seconds: Seconds
    words: str | None  # what repeats it, as JSON
    line: str  # of an earlier version, which stored the command that it printed
    target: str  # the text of its target file
    failed: int  # runs with this fingerprint
    passed: int  # runs of the cell since the first of them

    @property
    def replay(self) -> Replay | None:
        """What repeats it; None if what is stored is no command of Fencepost."""
        return stored_replay(self.words, self.line)


@dataclass(frozen=True, slots=True)
class Stored:
    """A run whose history was kept; `history` and `commits` are compressed: `decompressed` reads them."""

    cell: str
    seed: str
    started: str
    outcome: str
    verdict: str
    fingerprint: str | None
    anomalies: dict[str, int] | None  # None: an earlier version did not store them
    history: bytes
    commits: bytes | None


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """How a run of an earlier night ended."""

    cell: str
    seconds: Seconds
    started: str
    outcome: RunOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One run of an earlier night."""

    night: str  # when that began, ISO 8601
    cell: str
    repeat: int
    seed: str
    seconds: Seconds
    outcome: RunOutcome
    fingerprint: str | None
    folder: str | None


def checked(file: Path, rows: sqlite3.Cursor, kind: type[T]) -> Iterator[T]:
    """Yield rows as objects with the same fields; ConfigurationError for one that no campaign has written."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # T is a dataclass
    for row in rows:
        values = dict(zip(names, row, strict=True))
        component(values["cell"], file)
        try:
            yield msgspec.convert(_parsed(values), kind)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"{file}: a run of {values['cell']} is not as a campaign writes it: {error}"
            ) from None


def _parsed(values: dict[str, Any]) -> dict[str, Any]:
    """Raises ValueError for a fingerprint or anomalies that no campaign has written."""
    anomalies, shape = values.get("anomalies"), values.get("fingerprint")
    if shape is not None and not re.fullmatch(FINGERPRINT_PATTERN, str(shape)):
        raise ValueError(f"{quoted(shape)} is no fingerprint")
    if anomalies is None:
        return values
    return values | {"anomalies": msgspec.json.decode(anomalies if isinstance(anomalies, str) else "")}


def decompressed(stored: bytes) -> bytes:
    """Return a stored history; ValueError if it is broken, or longer than any that is stored."""
    decompressor = zlib.decompressobj()
    try:
        content = decompressor.decompress(stored, MOST_STORED + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(content) > MOST_STORED:
        raise ValueError(f"it has more than the {MOST_STORED:,} bytes of the longest history that is stored")
    if not decompressor.eof:
        raise ValueError("it is cut short")
    return content
