"""What became of the stale writes, in words."""

from __future__ import annotations

from collections.abc import Mapping

from checkers.vocabulary.document import VerdictDocument
from harness.report.sentences import count


def refused(counts: Mapping[str, int]) -> str:
    """The outcomes of the stale writes: "13 of 13 stale writes refused"; the parts add up."""
    attempted, rejected, *others = _parts(counts)
    said = f"{rejected:,} of {count(attempted, 'stale write')} refused"
    return said if rejected == attempted else ", ".join([said, *_in_words(*others)])


def outcomes(counts: Mapping[str, int]) -> str:
    """The same where it follows something else: "13 stale writes, all refused"; empty if not counted."""
    attempted, rejected, accepted, unknown = _parts(counts)
    if not attempted:
        late = counts.get("late_writes_attempted", 0)
        said = "no stale write attempted" if "stale_writes_attempted" in counts else ""
        return ", ".join(filter(None, [said, count(late, "late write") if late else ""]))
    for number, outcome in ((rejected, "refused"), (accepted, "accepted")):
        if number == attempted:
            return f"{count(attempted, 'stale write')}, {'all ' * (attempted > 1)}{outcome}"
    parts = [f"{rejected:,} refused", *_in_words(accepted, unknown)]
    return f"{count(attempted, 'stale write')}: {', '.join(parts)}"


def _in_words(accepted: int, unknown: int) -> list[str]:
    return [f"{accepted:,} accepted", *[f"{unknown:,} unknown"] * (unknown > 0)]


def _parts(counts: Mapping[str, int]) -> tuple[int, int, int, int]:
    """How many were attempted, and how many of those were refused, were accepted, or have an unknown end."""
    attempted = counts.get("stale_writes_attempted", 0)
    rejected = counts.get("stale_writes_rejected", 0)
    accepted = counts.get("stale_writes_accepted", 0)
    return attempted, rejected, accepted, attempted - rejected - accepted


def why_findings_differ(document: VerdictDocument) -> str:
    """Why there are more or fewer findings of stale writes than accepted ones, in a run that lost writes."""
    accepted = document.coverage.get("stale_writes_accepted", 0)
    found = document.anomalies.get("stale-write", 0)
    if accepted == found or not document.anomalies.get("lost-write"):
        return ""
    if accepted > found:
        return " (a stale write that was lost in the end is found as lost-write)"
    return " (not counting those that only a lost write made stale)"
