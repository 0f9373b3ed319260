"""Durations as target files write them: `"2s"`, `"1500ms"`, `"1.5 ttl"`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
DURATION_PATTERN = r"^\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h)\s*$"
SPAN_PATTERN = r"^\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h|ttl)\s*$"

MOST_TTLS = 100_000  # more than a day of the shortest TTL


@dataclass(frozen=True, slots=True)
class Span:
    """A duration, absolute or in multiples of the lock's TTL."""

    ns: int = 0
    ttls: float = 0.0

    def resolve(self, ttl: int) -> int:
        """Return the duration in ns, with leases of `ttl` ns."""
        return self.ns + round(self.ttls * ttl)

    def __str__(self) -> str:
        return f"{self.ttls:g} ttl" if self.ttls else format_duration(self.ns)


def parse_duration(text: object) -> int:
    """Parse `"1500ms"` to ns. Raises ValueError with the allowed form."""
    amount, unit = _split(text, DURATION_PATTERN, '"2s", "1500ms" or "2m"')
    return round(amount * NS[unit])


def parse_span(text: object) -> Span:
    """Parse `"3s"` or `"1.5 ttl"`. Raises ValueError with the allowed form."""
    amount, unit = _split(text, SPAN_PATTERN, '"3s" or "1.5 ttl"')
    if unit == "ttl" and amount > MOST_TTLS:
        raise ValueError(f"must be at most {MOST_TTLS} ttl")
    return Span(ttls=float(amount)) if unit == "ttl" else Span(ns=round(amount * NS[unit]))


def format_duration(ns: int) -> str:
    """Format ns for people: `1.5s`, `20ms`."""
    for unit in ("s", "ms", "us"):
        if ns >= NS[unit]:
            return f"{ns / NS[unit]:.6g}{unit}"
    return f"{ns}ns"


def _split(text: object, pattern: str, examples: str) -> tuple[Decimal, str]:
    found = re.match(pattern, text) if isinstance(text, str) else None
    if isinstance(text, str) and text.startswith("-"):
        raise ValueError(f"must be longer than 0, such as {examples}")
    if not found:
        raise ValueError(f"must be a duration with a unit, such as {examples}")
    amount = Decimal(found[1])
    if not amount:
        raise ValueError("must be longer than 0")
    return amount, found[2]
