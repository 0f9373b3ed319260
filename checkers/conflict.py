"""What a checker found: which rule was broken, by which operation, and because of which."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checkers.history.records import Op


class Rule(enum.Enum):
    """The rule that an operation broke; `explain` has the words for each."""

    # stale-write
    SENT_AFTER_NEWER = enum.auto()  # because: what proves that a newer token had been accepted
    SEEN_AFTER_NEWER = enum.auto()  # because: the newer write's proof, then the read that saw this one
    LOGGED_AFTER_NEWER = enum.auto()  # because: the newer write
    SAME_TOKEN_TWICE = enum.auto()  # because: the other write
    BELOW_THE_START = enum.auto()
    # stale-read
    OLDER_THAN_ACCEPTED = enum.auto()  # because: what proves that a newer token had been accepted
    # stale-read or non-linearizable
    WENT_BACK = enum.auto()  # because: what shows that the other value came later
    AGAINST_THE_LOG = enum.auto()  # because: what had returned before, and stands later in the log
    # lost-write
    GONE_FOR_GOOD = (
        enum.auto()
    )  # because: what shows it was there, and the past before; what shows the past after
    GONE_FROM_LOG = enum.auto()  # because: the read that saw it, if one did
    # high-water-regression
    MARK_WENT_BACK = enum.auto()  # because: the read of the higher mark, then what was lost and what shows it
    # unfenced-write
    PASSED_THE_FENCE_BY = enum.auto()  # because: the read that saw it, if its own answer does not say so
    STORED_WITHOUT_A_TOKEN = enum.auto()  # because: a write that fits the log
    # false-rejection
    NO_CAUSE = enum.auto()
    # phantom-accept, ghost-write, duplicate-write
    NEVER_LOGGED = enum.auto()
    FAILED_BUT_LOGGED = enum.auto()
    FAILED_BUT_READ = enum.auto()  # because: the read
    LOGGED_TWICE = enum.auto()
    FENCE_NEVER_RAISED = enum.auto()  # phantom-accept or lost-write
    FENCE_FAILED_BUT_LOGGED = enum.auto()
    # late-write
    AFTER_NEWER_GRANT = enum.auto()  # because: the grant
    # non-linearizable
    VALUE_OF_NOBODY = enum.auto()
    VALUE_WITH_WRONG_TOKEN = enum.auto()  # because: the write
    READ_BEFORE_WRITTEN = enum.auto()  # because: the write
    READ_BUT_NOT_LOGGED = enum.auto()  # because: the write
    NEVER_SENT = enum.auto()  # because: a write that stands beside it in the log
    LOGGED_OTHERWISE = enum.auto()
    FALSE_OR_STALE = enum.auto()  # because: the rejection
    # locks
    TOKEN_OF_ANOTHER = enum.auto()  # because: the other grant
    TOKEN_NOT_ABOVE = enum.auto()  # because: the earlier grant
    LEASE_STILL_PROMISED = enum.auto()  # because: the holder's grant, and what set its lease last
    BOTH_BELIEVED = enum.auto()  # because: the other's grant
    NOBODY_GRANTED = enum.auto()  # because: what kept the lock held last, then who else waited
    # lost-update
    WRITTEN_WITHOUT = enum.auto()  # because: the lost append, what proves it, the read that lacks it
    READ_WITHOUT = enum.auto()  # because: the lost append, what proves it
    SAME_LIST_READ = enum.auto()  # because: the lost append
    LOGGED_WITHOUT = enum.auto()  # because: the lost append, what proves it


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One event that the rules do not allow."""

    anomaly: str
    rule: Rule
    accused: Op
    because: tuple[Op, ...] = ()
    proof: tuple[Op, ...] = ()  # the smallest set that is wrong by itself, once it was looked for
    cause: Conflict | None = None  # an earlier one on the same resource, without which it would not be
    counted: bool = False  # nobody is to blame for it, although others of this name are violations


def firsts(conflicts: Iterable[Conflict]) -> Iterator[Conflict]:
    """Of several conflicts of one name that accuse one operation, the first: it is one event."""
    seen: set[tuple[str, int]] = set()
    for conflict in conflicts:
        event = (conflict.anomaly, conflict.accused.index)
        if event not in seen:
            seen.add(event)
            yield conflict


def came_after_newer(conflict: Conflict) -> bool:
    """Is it a stale write that came after a value with a higher token, not with an equal one?"""
    token = conflict.accused.token or 0
    higher = (op for op in conflict.because if op.f != "fence" and (op.token or 0) > token)
    return conflict.anomaly == "stale-write" and any(higher)
