"""Reasons why a run is not valid, or not as expected: each kind, with its words in one table."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any, Self

from checkers.vocabulary.hazards import Point, why_unreached


class ReasonKind(enum.StrEnum):
    """The subject of a reason; readers decide by it, never by the words."""

    CRASHED = "crashed"  # a checker, and its error
    NOT_COUNTED = "not-counted"  # what could not be counted, and the error
    CUT_SHORT = "cut-short"  # what else is missing, or nothing
    EMPTY = "empty"
    NOT_EXERCISED = "not-exercised"  # what the run did not do, and what to do
    UNTESTABLE = "untestable"  # why nothing could have tested the fence, and what to do
    DOUBT = "doubt"  # what happened, and its name
    UNEXPECTED = "unexpected"  # an anomaly
    NOT_FOUND = "not-found"  # an anomaly
    CONTRADICTION = "contradiction"  # between the clients and the log
    UNPROVED = "unproved"  # an anomaly, its resource, and what is not certain about its proof
    NO_ORDER = "no-order"  # a file that is missing
    NO_PLAN = "no-plan"
    GAVE_UP = "gave-up"  # a sentence
    OTHER_START = "other-start"  # a sentence


_WORDS = {
    ReasonKind.CRASHED: "the checker {} crashed: {}",
    ReasonKind.NOT_COUNTED: "{} could not be counted: {}",
    ReasonKind.CUT_SHORT: "the history ends in the middle of a line{}: what else was done is not known",
    ReasonKind.EMPTY: "the history has no operation: there is nothing to judge",
    ReasonKind.NOT_EXERCISED: "not tested: {}: {}",
    ReasonKind.UNTESTABLE: "not tested: {}: {}",
    ReasonKind.DOUBT: "{} ({})",
    ReasonKind.UNEXPECTED: "found {}, which was not expected",
    ReasonKind.NOT_FOUND: "expected {} was not found",
    ReasonKind.UNPROVED: "{} on {}: {}",
}


class Reason(str):
    """A reason: its words, its kind, and the arguments of its words."""

    __slots__ = ("arguments", "kind")

    kind: ReasonKind
    arguments: tuple[str, ...]

    def __new__(cls, kind: ReasonKind, *arguments: str) -> Self:
        """Put a reason into the words of its kind."""
        made = super().__new__(cls, _WORDS.get(kind, "{}").format(*arguments))
        made.kind, made.arguments = kind, arguments
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Preserve the kind in another process."""
        return Reason, (self.kind, *self.arguments)


NEVER_TESTED = frozenset({ReasonKind.NOT_EXERCISED, ReasonKind.UNTESTABLE})
"""The kinds of reasons of a run that tested no fence."""

RUN_LONGER = "run longer, or with faults"
NO_FAULTS = "it was run with --no-faults"
USUAL = frozenset({RUN_LONGER, NO_FAULTS})
"""What is said of any run that did too little."""


NO_GRANT = Reason(
    ReasonKind.UNTESTABLE,
    "the lock was never granted, so there was no holder to test",
    "read why in the note on this run and in the clients' logs (logs/client-0.log)",
)
NO_RETURN = Reason(
    ReasonKind.UNTESTABLE,
    "no acquire ever returned, so there was no holder to test",
    "let acquire end by itself, with a grant or an error, also while the lock is held or its server is down",
)
NO_TOKEN = Reason(
    ReasonKind.UNTESTABLE,
    "the lock gave no fencing token, so the fence could not be challenged",
    'use a lock that gives one, or set storage.fencing and lock.token to "none" to see which writes come too'
    " late",
)


def unaimed(points: Iterable[Point]) -> Reason:
    """Return the reason of a run whose faults begin only at points to which no client came."""
    whys = " and ".join(map(why_unreached, points))
    return Reason(
        ReasonKind.UNTESTABLE,
        f"no dangerous moment could be tried, because {whys}",
        "report it in your class or program if it has that moment, or aim at another moment",
    )
