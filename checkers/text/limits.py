"""Sizes and durations in words, and the limits of files; a run of an hour stays far below each of them."""

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

LINE = MIB  # bytes; of a history, an event file or a commit log
HISTORY = 2 * GIB  # of a history of any tool, and of the records of all processes of a run together
COMMITS = GIB
EARLIER_COMMITS = 16 * MIB  # of earlier runs, in the answer of a storage that Fencepost did not start
EXPANDED = 64 * MIB  # of a compressed history, and beyond that:
EXPANSION = 100  # times its compressed size
EVENT_FILES = 10_000  # in a run's folder
DOCUMENT = 16 * MIB  # plan.json, environment.json, header.json, target.toml
NIGHT = 256 * MIB  # plan.json and results.jsonl of a campaign's night, each
VERDICT = 256 * MIB  # some hundred thousand findings
VALUES = 10_000_000  # of a JSON file, by its commas and brackets; each takes up to 120 bytes of memory
REPORT = 64 * MIB

SHORTEST_LEASE = 100_000_000  # ns; the shortest that Fencepost's own locks accept
UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))  # ns

SPLIT = "judge one resource at a time, each from a file with the header and its lines"
"""The advice for a history that is too large."""


def described(size: int) -> str:
    """Format a size for a reader, such as 64 MiB."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


def brief(length: int) -> str:
    """Format a setting (ns): "2 s", "1.5 ms"."""
    for size, name in UNITS:
        if length >= size:
            return f"{length / size:g} {name}"
    return f"{length} ns"
