"""Latencies of one operation, in an HDR histogram: exact to three digits, and of constant size.

An operation that failed, or that an open loop could not send, has taken for ever: a percentile that it
reaches is infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from hdrh.histogram import HdrHistogram

from harness.bench.intervals import Interval, ranks_of_quantile

LOWEST = 1_000  # ns
HIGHEST = 60 * 10**9  # ns; a longer one counts as this
DIGITS = 3
ENOUGH_FOR_P999 = 10_000
"""The fewest samples whose 99.9th percentile is more than a guess."""


@dataclass(slots=True)
class Latencies:
    """The latencies of one operation (ns), and how many of them ended in each way."""

    ok: int = 0
    failed: int = 0  # certainly without effect, such as a lost race
    unknown: int = 0
    unsent: int = 0  # due, but not sent before the end
    error: str = ""  # the first one
    total: int = 0  # ns
    blocks: list[int] = field(default_factory=list)
    """How many ended ok in each of the equal parts of the time that was measured."""
    histogram: Any = field(default_factory=lambda: HdrHistogram(LOWEST, HIGHEST, DIGITS))

    def add(self, latency: int) -> None:
        """Add the latency (ns) of an operation that ended ok."""
        self.ok += 1
        self.total += latency
        self.histogram.record_value(min(max(latency, LOWEST), HIGHEST))

    def merge(self, other: Latencies) -> None:
        """Add those of another client, or of another repetition."""
        self.ok += other.ok
        self.failed += other.failed
        self.unknown += other.unknown
        self.unsent += other.unsent
        self.error = self.error or other.error
        self.total += other.total
        self.histogram.add(other.histogram)
        self.blocks = list(map(sum, zip_longest(self.blocks, other.blocks, fillvalue=0)))

    @property
    def all(self) -> int:
        """How many there were, however they ended."""
        return self.ok + self.failed + self.unknown + self.unsent

    @property
    def mean(self) -> float:
        """The mean (ns) of those that ended ok; 0 without any."""
        return self.total / self.ok if self.ok else 0.0

    def quantile(self, q: float) -> float:
        """Return the latency (ns) that a share `q` of all does not exceed; infinite without any."""
        return self._at_rank(max(1, math.ceil(q * self.all)))

    def interval(self, q: float) -> Interval:
        """Return where the quantile of all that could be measured lies with 95 % certainty (ns)."""
        if not self.all:
            return Interval(0, math.inf, math.inf)
        low, high = ranks_of_quantile(q, self.all)
        # Beyond the last sample there is no bound.
        highest = self._at_rank(high) if high <= self.all else math.inf
        return Interval(self._at_rank(low), self.quantile(q), highest)

    def _at_rank(self, rank: int) -> float:
        if rank > self.ok:
            return math.inf
        return float(self.histogram.get_value_at_percentile(100 * rank / self.ok))

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: the histogram in its own compressed form."""
        counts = {name: getattr(self, name) for name in self.__slots__ if name != "histogram"}
        return counts | {"histogram": self.histogram.encode()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what another process has measured."""
        for name, value in state.items():
            setattr(self, name, HdrHistogram.decode(value) if name == "histogram" else value)
