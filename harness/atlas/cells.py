"""The cells of the atlas: what the races of one operation in one mode showed."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.atlas.race import ConditionalRequest, Mode, Race
from harness.report.sentences import count

MOST_UNDECIDED = 0.1
"""The share of the races that may be undecided; with more, atomic is not what was shown."""


class Atomicity(enum.StrEnum):
    """Whether an operation is atomic."""

    ATOMIC = "atomic"
    NOT_ATOMIC = "not atomic"
    IGNORED = "ignored"  # the server does not look at the condition
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasCell:
    """One operation in one mode; in none if it was not raced."""

    operation: ConditionalRequest
    mode: Mode | None = None
    races: Sequence[Race] = ()
    is_ignored: bool = False
    reason: str = ""  # why it was not raced

    @property
    def doubles(self) -> list[Race]:
        """The races with more than one winner."""
        return [race for race in self.races if race.winners > 1]

    @property
    def most_winners(self) -> int:
        """The most clients that won one key."""
        return max((race.winners for race in self.races), default=0)

    @property
    def undecided(self) -> int:
        """How many races had no winner, or lost the answer that would have said whether there was another."""
        return sum(not race.is_decided for race in self.races)

    @property
    def gone(self) -> int:
        """How many acknowledged objects a DELETE of an older one removed."""
        return sum(race.removed_a_winner for race in self.races)

    @property
    def verdict(self) -> Atomicity:
        """Judge all races together: one with two winners is enough."""
        if self.is_ignored:
            return Atomicity.IGNORED
        if self.doubles:
            return Atomicity.NOT_ATOMIC
        if not self.races or self.undecided > MOST_UNDECIDED * len(self.races):
            return Atomicity.UNKNOWN
        return Atomicity.ATOMIC

    @property
    def smallest(self) -> Race | None:
        """The race with the fewest winners of those with two or more, rather one that lost an object."""
        return min(self.doubles, key=lambda race: (not race.removed_a_winner, race.winners), default=None)

    def sentence(self) -> str:
        """Say what was found."""
        if self.is_ignored or not self.races:
            return f"{self.verdict}: {self.reason}"
        raced = count(len(self.races), "key")
        said = f"{self.verdict}: {len(self.doubles)} of {raced} had more than one winner"
        if self.doubles and self.operation is not ConditionalRequest.DELETE:
            said += f", up to {self.most_winners}"
        if self.gone:
            said += f"; in {self.gone} the acknowledged PUT was gone afterwards"
        if self.undecided:
            said += f"; {self.undecided} had none, or too few answers to know ({self._answers()})"
        return f"{said}; {self.reason}" if self.reason else said

    def _answers(self) -> str:
        counted = sorted(self._statuses().items())
        return ", ".join(f"{status} ×{number}" for status, number in counted) or "the object was not created"

    def _statuses(self) -> Counter[str]:
        attempts = [each for race in self.races for each in race.attempts]
        return Counter("no answer" if each.status is None else str(each.status) for each in attempts)

    def document(self) -> dict[str, Any]:
        """Return it for --format json."""
        return {
            "operation": str(self.operation),
            "mode": self.mode and str(self.mode),
            "verdict": str(self.verdict),
            "keys": len(self.races),
            "keys_with_two_winners": len(self.doubles),
            "most_winners": self.most_winners,
            "undecided": self.undecided,
            "acknowledged_and_gone": self.gone,
            "answers": dict(sorted(self._statuses().items())),
            "reason": self.reason,
        }


MEANINGS = {
    ConditionalRequest.CREATE: (
        "Several clients got a success for creating the same object. A lock that is taken this way can"
        " have several holders."
    ),
    ConditionalRequest.REPLACE: (
        "Several clients got a success for replacing the same version of an object. All but one of"
        " these writes are lost, and a lock that is taken over this way can have several holders."
    ),
    ConditionalRequest.DELETE: (
        "A PUT and a DELETE that named the same version of an object both succeeded. A lock that is"
        " released by DELETE can take the lock away from its next holder."
    ),
}
"""What more than one winner means to a user, by operation."""
