"""The background of a run's anomaly, for a reader who has never run such a test."""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.headline import RunAnswer

_LOCK = (
    "A lock service lets one client at a time work on something. The lock is granted for a limited time, the"
    " lease, and comes with a number that grows with every grant: the fencing token."
)
_STALE = (
    "A client can be stopped for so long, by a garbage collection or a frozen machine, that its lease runs"
    " out before it notices. Another client gets the lock and a higher token; then the first wakes up and"
    " finishes its write: a stale write."
)
_FENCE = (
    "A storage with a fence remembers the highest token that it has accepted, and refuses lower ones."
    " Without a fence, a stale write destroys newer data."
)


@dataclass(frozen=True, slots=True)
class Primer:
    """A few sentences, under a title."""

    title: str
    sentences: tuple[str, ...]


def primer(answer: RunAnswer) -> Primer:
    """Explain the anomaly that an answer is about; without one, what is tested."""
    anomaly = answer.anomaly
    if anomaly is None:
        return Primer("Background: what this test does", (_LOCK, _STALE, _FENCE))
    common = {"storage": (_LOCK, _FENCE), "lock": (_LOCK,), "both": (_LOCK,)}[anomaly.area]
    if anomaly.name in {"stale-write", "double-belief", "late-write"}:
        common = (_LOCK, _STALE, _FENCE)
    own = (f"{anomaly.definition} {anomaly.arises}", f"{anomaly.matters} {anomaly.remedy}")
    return Primer(f"Background: {anomaly.name}", (*common, *own))
