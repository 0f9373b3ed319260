"""An anomaly, with what a report says about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A kind of wrong behaviour that a history can show."""

    name: str
    area: Literal["storage", "lock", "both"]
    definition: str  # one plain sentence
    label: str  # what is wrong, short enough to fit next to an operation in a drawing
    once: str  # what happened, after a colon: "the storage accepted a stale write"
    several: str  # the same for `{count}` of them
    matters: str  # why it matters, in one sentence
    arises: str  # how it arises, in one sentence
    remedy: str  # what to do about it, in one sentence
    counters: tuple[str, str, str]  # `found`, names of `COVERAGE`, or names of `WORK`
    violation: bool = True  # False: it is only counted

    def happened(self, count: int) -> str:
        """Say what happened, and how often."""
        return self.once if count == 1 else self.several.format(count=f"{count:,}")
