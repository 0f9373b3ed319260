"""Durations: in words, and the shortest lease."""

from __future__ import annotations

SHORTEST_LEASE = 100_000_000  # ns; the shortest that Fencepost's own locks accept
UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))  # ns


def brief(length: int) -> str:
    """Format a setting (ns): "2 s", "1.5 ms"."""
    for size, name in UNITS:
        if length >= size:
            return f"{length / size:g} {name}"
    return f"{length} ns"
