"""One resource with its commit log, as the log oracle sees it: small, slow, and independent of the checkers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from checkers.history.records import Commit, Header, Op, Outcome

START = -1
"""The place of the initial value."""


@dataclass(frozen=True)
class Names:
    """The anomalies that must be found, and those that may be found with them."""

    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()

    def agree(self, found: Iterable[str]) -> bool:
        """Do these names match what was found?"""
        return self.must <= set(found) <= self.must | self.may


@dataclass(frozen=True)
class Entry:
    """One place of the log: the commit, and the operation that sent it, if any."""

    place: int
    commit: Commit
    op: Op | None

    @property
    def token(self) -> int | None:
        """As it was stored; of a write that lost its token on the way, as it was sent."""
        if self.commit.token is None and self.op is not None:
            return self.op.token
        return self.commit.token

    @property
    def called(self) -> float:
        return float("-inf") if self.op is None else self.op.called


@dataclass
class Resource:
    """One resource's operations and commits."""

    header: Header
    operations: Sequence[Op]
    commits: Sequence[Commit]
    restarts: Sequence[tuple[float, float]] = ()
    is_cut_short: bool = False
    logs_fences: bool = False
    entries: list[Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entries = [Entry(place, each, self._sender(each)) for place, each in enumerate(self.commits)]

    def _sender(self, commit: Commit) -> Op | None:
        if commit.fence:
            same = [op for op in self.operations if op.f == "fence" and op.token == commit.token]
            same.sort(key=lambda op: op.called)
            return next((op for op in same if op.outcome is not Outcome.FAIL), same[0] if same else None)
        return next((op for op in self.writes if op.value == commit.value), None)

    @property
    def writes(self) -> list[Op]:
        return [op for op in self.operations if op.f == "write"]

    @property
    def fences(self) -> list[Op]:
        return [op for op in self.operations if op.f == "fence" and op.outcome is not Outcome.FAIL]

    @property
    def reads(self) -> list[Op]:
        return [op for op in self.operations if op.f == "read" and op.outcome is Outcome.OK]

    @property
    def rejected(self) -> list[Op]:
        """The writes and fences that were refused as stale, except ghosts."""
        return [
            op
            for op in self.operations
            if op.f in {"write", "fence"}
            and op.outcome is Outcome.FAIL
            and op.error == "stale"
            and op.token is not None
            and not self.places(op)
            and not (op.f == "write" and self.readers(op))
        ]

    def places(self, op: Op) -> list[int]:
        return [each.place for each in self.entries if each.op is op]

    def is_logged(self, fence: Op) -> bool:
        """Does the log surely have this fence, and not another one with its token?"""
        return bool(self.places(fence)) and [op.token for op in self.fences].count(fence.token) == 1

    def readers(self, write: Op) -> list[Op]:
        return [
            read
            for read in self.reads
            if read.value == write.value
            and (
                None in {read.token, write.token} or read.token in {write.token, *self._logged_tokens(write)}
            )
            and not read.precedes(write)
        ]

    def _logged_tokens(self, write: Op) -> set[int | None]:
        return {self.entries[place].token for place in self.places(write)}

    def refuses(self, token: int, mark: int) -> bool:
        return token <= mark if self.header.policy == "strict" else token < mark

    def restarted_after(self, moment: float) -> bool:
        return any(end >= moment for _, end in self.restarts)
