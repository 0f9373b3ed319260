"""What a run gave the checkers nothing to compare for: neither found nor excluded."""

from __future__ import annotations

from collections.abc import Sequence

from checkers.history.reader import Op
from harness.report.counters import gives_tokens, work_of


def untested(operations: Sequence[Op]) -> dict[str, str]:
    """What the run lacked, by the anomaly that needs it; nothing is known of a run without operations."""
    if not len(operations):
        return {}
    work = work_of(operations)
    lacking = {}
    if not gives_tokens(operations):
        lacking["duplicate-token"] = lacking["token-regression"] = "no tokens"
    if not work["appends"]:
        lacking["lost-update"] = "no appends"
        if not work["reads"]:
            lacking["stale-read"] = "no reads"
    return lacking
