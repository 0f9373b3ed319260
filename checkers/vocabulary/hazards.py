"""Hazards: the dangerous moments of a lock, as a finite table of cells.

What makes a fault dangerous is where the lock's holder was when it began, the state of the lock when it
ended, its target, and the fate of the messages meanwhile. A green run has seen a set of these cells, and says
nothing about the others. M. Kleppmann's "How to do distributed locking" (2016) is about one of them,
`before-write/superseded/holder`.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

from msgspec import Meta, Struct

from checkers.text.nearest import nearest


class Point(enum.StrEnum):
    """The position of the holder when the fault began."""

    GRANTED = "granted"  # its request was granted, but its acquire had not returned
    ACQUIRED = "acquired"  # its acquire had returned, and it had done nothing since
    BEFORE_WRITE = "before-write"
    WRITE_SENT = "write-sent"  # the answer to its write had not come
    RENEWING = "renewing"  # a renewal of its lease was in flight
    BEFORE_RELEASE = "before-release"  # it had written


class End(enum.StrEnum):
    """The state of the lock when the fault ended; the last that applies."""

    BEFORE_EXPIRY = "before-expiry"  # the lease was still promised
    EXPIRED = "expired"  # it was not, but no other client had been granted the lock
    REGRANTED = "regranted"  # another client had been granted the lock
    SUPERSEDED = "superseded"  # another client's write had been accepted, too


class Hit(enum.StrEnum):
    """The target of the fault."""

    HOLDER = "holder"
    WAITER = "waiter"  # a client that waited for the lock
    LOCK = "lock"  # servers of the lock service
    STORAGE = "storage"  # servers of the storage


class Fate(enum.StrEnum):
    """The fate of messages that were sent during the fault."""

    DELIVERED = "delivered"
    DELAYED = "delayed"  # delivered once the fault had ended, after the lease had
    LOST = "lost"


POINTS = {
    Point.GRANTED: "between its grant and its token",
    Point.ACQUIRED: "right after its grant",
    Point.BEFORE_WRITE: "before its write",
    Point.WRITE_SENT: "with its write sent",
    Point.RENEWING: "during a renewal",
    Point.BEFORE_RELEASE: "before its release",
}
"""The position of a client, in words."""

_NEVER_REPORTED = {
    Point.GRANTED: 'no client of this lock ever reported "granted"',
    Point.WRITE_SENT: 'no client of this storage ever reported "sent"',
    Point.RENEWING: "no client of this lock ever renewed a lease",
}


def why_unreached(point: Point) -> str:
    """Say why no client of a run came to a point that its user's class or program reports."""
    return _NEVER_REPORTED.get(point, f'no client ever came to "{point}"')


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One dangerous moment: `write-sent/superseded/holder`; a fate but `delivered` is a fourth part."""

    point: Point
    end: End
    hit: Hit = Hit.HOLDER
    fate: Fate = Fate.DELIVERED

    @classmethod
    def named(cls, name: str) -> Self:
        """Parse a name; without a third part it means the holder. ValueError says what is wrong with it."""
        given = name.split("/")
        parts = [*given, *_DEFAULTS[len(given) :]]
        if len(parts) != len(_PARTS) or not all(parts):
            raise ValueError(f"{name[:80]!r} is no hazard: one looks like write-sent/superseded/holder")
        cell = cls(*_parsed(parts))
        if not cell.is_consistent:
            raise ValueError(f"{name[:80]!r} is no hazard: delayed means past the end of the lease")
        return cell

    @property
    def is_consistent(self) -> bool:
        """Is the fate possible? A message that was not delayed past the lease counts as delivered."""
        return not (self.fate is Fate.DELAYED and self.end is End.BEFORE_EXPIRY)

    def __str__(self) -> str:
        fate = () if self.fate is Fate.DELIVERED else (self.fate,)
        return "/".join((self.point, self.end, self.hit, *fate))


_PARTS: tuple[type[enum.StrEnum], ...] = (Point, End, Hit, Fate)
_DEFAULTS = ("", "", Hit.HOLDER, Fate.DELIVERED)

CELLS = tuple(
    cell for parts in itertools.product(Point, End, Hit, Fate) if (cell := Cell(*parts)).is_consistent
)
"""Every cell, in reading order."""

PLACE = {cell: place for place, cell in enumerate(CELLS)}
"""The place of each cell in reading order."""


def fate_of(kind: str, target: str, end: End) -> Fate:
    """Return what becomes of messages under a kind of fault with this end.

    A stopped server and a held edge keep messages, and deliver them when the fault ends. A paused
    client holds back nothing that it had sent. A cut edge and a killed process lose messages.
    """
    if kind in _LOSING:
        return Fate.LOST
    if end is not End.BEFORE_EXPIRY and (kind == "delay" or (kind == "pause" and not is_client(target))):
        return Fate.DELAYED
    return Fate.DELIVERED


_LOSING = frozenset({"partition", "kill", "failover", "restart"})


def is_client(target: str) -> bool:
    """Is the target of a fault a client rather than servers?"""
    return target.partition(":")[0] in {"client", "holder", "waiter"}


class HazardTable(Struct, frozen=True, kw_only=True):
    """The hazards of a target.

    `possible`: those that its faults and systems can produce. `impossible`: the others, by reason; `*`
    stands for every point or end. `required`: how many of the possible ones a valid run has seen.
    `untried`: how many more a pause of the holder with `hazards = "all"` would produce. `unreached`: points
    to which no client of the run came, though there were occasions; they make hazards impossible.
    """

    possible: list[str] = []
    impossible: dict[str, list[str]] = {}
    required: Annotated[int, Meta(ge=0, le=len(CELLS))] = 0
    untried: Annotated[int, Meta(ge=0, le=len(CELLS))] = 0
    unreached: list[Point] = []


_SHOWN = 3  # verdict.json has all


def tried(possible: int, missed: Sequence[str], untried: int) -> str:
    """Say how many were tried: "22 of 24 dangerous moments tried"."""
    return f"{possible - len(missed)} of {possible + untried} dangerous moments tried"


def summary(possible: int, missed: Sequence[str], untried: int, shown: int = _SHOWN) -> str:
    """Say which were not tried: "22 of 24 dangerous moments tried, but not …", and how to try the rest."""
    seen = tried(possible, missed, untried)
    if 0 < len(missed) < possible:
        more = len(missed) - shown
        seen += f", but not {', '.join(missed[:shown])}{f' and {more} more' if more > 0 else ''}"
    return f'{seen}; hazards = "all" tries the rest' if untried else seen


def untriable(unreached: Sequence[Point]) -> str:
    """Say which moments do not count, and why: "not counted: granted, because no client …"."""
    return f"not counted: {'; '.join(f'{point}, because {why_unreached(point)}' for point in unreached)}"


def _parsed(parts: Sequence[str]) -> Iterator[Any]:
    for kind, word in zip(_PARTS, parts, strict=True):
        known = [str(each) for each in kind]
        if word not in known:
            near = nearest(word, known)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(known)}"
            raise ValueError(f"{word[:40]!r} is no part of a hazard; {hint}")
        yield kind(word)
