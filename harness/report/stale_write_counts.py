"""What became of the stale writes, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from checkers.vocabulary.document import VerdictDocument
from harness.report.sentences import count


class _StaleWrites(NamedTuple):
    """How many stale writes were attempted, and how many of those were rejected or accepted."""

    attempted: int
    rejected: int
    accepted: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> _StaleWrites:
        return cls(*(counts.get(f"stale_writes_{name}", 0) for name in cls._fields))

    @property
    def others(self) -> str:
        """Those that were not rejected, in words: "1 accepted, 2 unknown"."""
        unknown = self.attempted - self.rejected - self.accepted
        return f"{self.accepted:,} accepted" + (f", {unknown:,} unknown" if unknown > 0 else "")


def refused(counts: Mapping[str, int]) -> str:
    """The outcomes of the stale writes: "13 of 13 stale writes refused"; the parts add up."""
    writes = _StaleWrites.of(counts)
    said = f"{writes.rejected:,} of {count(writes.attempted, 'stale write')} refused"
    return said if writes.rejected == writes.attempted else f"{said}, {writes.others}"


def outcomes(counts: Mapping[str, int]) -> str:
    """The same where it follows something else: "13 stale writes, all refused"; empty if not counted."""
    writes = _StaleWrites.of(counts)
    if not writes.attempted:
        late = counts.get("late_writes_attempted", 0)
        said = "no stale write attempted" if "stale_writes_attempted" in counts else ""
        return ", ".join(filter(None, [said, count(late, "late write") if late else ""]))
    attempted = count(writes.attempted, "stale write")
    for number, outcome in ((writes.rejected, "refused"), (writes.accepted, "accepted")):
        if number == writes.attempted:
            return f"{attempted}, {'all ' * (number > 1)}{outcome}"
    return f"{attempted}: {writes.rejected:,} refused, {writes.others}"


def why_findings_differ(document: VerdictDocument) -> str:
    """Why there are more or fewer findings of stale writes than accepted ones, in a run that lost writes."""
    accepted = document.coverage.get("stale_writes_accepted", 0)
    found = document.anomalies.get("stale-write", 0)
    if accepted == found or not document.anomalies.get("lost-write"):
        return ""
    if accepted > found:
        return " (a stale write that was lost in the end is found as lost-write)"
    return " (not counting those that only a lost write made stale)"
