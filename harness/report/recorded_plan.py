"""The parts of plan.json that a report reads; `harness.nemesis.plan` writes it."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from checkers.history.lines import Nanoseconds
from checkers.vocabulary.document import WindowsDocument


class RecordedFault(Struct, frozen=True, kw_only=True):
    """One fault, and how it was observed."""

    kind: str = ""
    target: str = ""
    resource: str | None = None
    at: str | None = None  # the stop point, if it waited for one
    in_force: Nanoseconds | None = None
    healed: Nanoseconds | None = None
    evidence: str | None = None
    healed_evidence: str | None = None


class RecordedPlan(Struct, frozen=True, kw_only=True):
    """The seed of a run, the time of its work in ns, and its faults.

    `ended`: None while the clients work, and forever if the run was killed; unset where an
    older version wrote the plan.
    """

    seed: int | None = None
    started: Nanoseconds | None = None
    duration: Nanoseconds | None = None
    ended: Nanoseconds | UnsetType | None = UNSET
    faults: list[RecordedFault] = []
    windows: list[WindowsDocument] = []
