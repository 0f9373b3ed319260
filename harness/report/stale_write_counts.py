"""What became of the stale writes, in words."""

from __future__ import annotations

from collections.abc import Mapping

from checkers.vocabulary.document import VerdictDocument


def refused(counts: Mapping[str, int]) -> str:
    """The outcomes of the stale writes: "13 of 13 stale writes refused"; the parts add up."""
    attempted = counts.get("stale_writes_attempted", 0)
    accepted = counts.get("stale_writes_accepted", 0)
    rejected = counts.get("stale_writes_rejected", 0)
    unknown = attempted - accepted - rejected
    said = f"{rejected:,} of {attempted:,} stale write{'' if attempted == 1 else 's'} refused"
    if rejected == attempted:
        return said
    return f"{said}, {accepted:,} accepted" + (f", {unknown:,} unknown" if unknown > 0 else "")


def why_findings_differ(document: VerdictDocument) -> str:
    """Why there are more or fewer findings of stale writes than accepted ones, in a run that lost writes."""
    accepted = document.coverage.get("stale_writes_accepted", 0)
    found = document.anomalies.get("stale-write", 0)
    if accepted == found or not document.anomalies.get("lost-write"):
        return ""
    if accepted > found:
        return " (a stale write that was lost in the end is found as lost-write)"
    return " (not counting those that only a lost write made stale)"
