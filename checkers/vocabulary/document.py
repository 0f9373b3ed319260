"""verdict.json, as types: one definition gives the document and its schema."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

from checkers.vocabulary.hazards import Point
from checkers.vocabulary.reasons import Reason, ReasonKind

VerdictWord = Literal["valid", "unknown", "invalid"]


class CauseDocument(Struct, frozen=True, kw_only=True):
    """What led to a finding: `fault` is the kind of a fault, `target` what it hit, `faults` its lines.

    `operations`: the lines of a late release or renewal that let another owner in. `certain`: the history
    shows the whole chain; else it fits, and another cause is possible.
    """

    certain: bool
    fault: str = ""
    target: str = ""
    faults: list[int] = []
    operations: list[int] = []


class EarlierDocument(Struct, frozen=True, kw_only=True):
    """The finding that another one follows from."""

    anomaly: str
    summary: str
    operations: list[int]


class FindingDocument(Struct, frozen=True, kw_only=True):
    """One finding: a sentence, the lines of history.jsonl that prove it, and why they do.

    `names`: every anomaly that the event is, the one at its root first. `story`: what happened, in at most
    three plain sentences in the order of time. `cause`: what led to it; null if nothing is known to have.
    `step_lines`, `step_faults`: for each step the lines of the operations and of the faults that it is about.
    `rule`: the name of the broken rule, for programs: sentences may be reworded, this name never changes.
    `accused`: the lines in `operations` of the wrong one. `against`: the lines of those that it contradicts.
    `roles`: what the accused is, then each kind of operation that it contradicts: "write", "newer write".
    `fault`: the kind of the fault that is the cause, if one is: "pause". `faults`: its kind and those of
    all faults that the steps name: others may have been in force when the lease ended.
    `probable_cause`: the lines of the operation that is the cause, if one is.
    `also`: `names` but for the first. `caused_by`: the earlier finding that it follows from.
    """

    anomaly: str
    resource: str
    summary: str
    operations: list[int]
    steps: list[str]
    rule: str = ""
    roles: list[str] = []
    fault: str = ""
    faults: list[str] = []
    accused: list[int] = []
    against: list[int] = []
    cause: CauseDocument | None = None
    probable_cause: list[int] = []
    names: list[str] = []
    also: list[str] = []
    story: list[str] = []
    step_lines: list[list[int]] = []
    step_faults: list[list[int]] = []
    caused_by: EarlierDocument | None = None


class CheckerDocument(Struct, frozen=True, kw_only=True):
    """One checker: its own verdict, the evidence it used, and how long it took."""

    name: str
    verdict: VerdictWord
    evidence: Literal["committed", "observed"]
    seconds: float


class InterruptionDocument(Struct, frozen=True, kw_only=True):
    """An interrupted run: how many seconds it worked, and how many were planned."""

    seconds: float
    planned: float


class HazardsDocument(Struct, frozen=True, kw_only=True):
    """The dangerous moments that faults have hit: see docs/hazards.md.

    `hit`: how many faults hit each. `possible`: how many the target's faults can hit; null if the
    history does not say. `missed`: those of them that no fault hit. `untried`: how many more a pause of
    the holder with `hazards = "all"` would hit. `unreached`: the points at which none is possible, because no
    client came to them.
    """

    hit: dict[str, int] = {}
    missed: list[str] = []
    possible: int | None = None
    untried: int = 0
    unreached: list[Point] = []


class WindowsDocument(Struct, frozen=True, kw_only=True):
    """The occasions of one fault of the target, or of several called the same: see docs/hazards.md.

    `fault`: such as "pause holder before-write". `missed`: how many, by reason.
    """

    fault: str
    hit: int = 0
    missed: dict[str, int] = {}

    def __str__(self) -> str:
        """Such as "kill storage: 3 windows, 2 hit, 1 missed: another fault (pause lock) had its servers"."""
        count = sum(self.missed.values())
        windows = self.hit + count
        said = f"{self.fault}: {windows:,} window{'s' * (windows != 1)}, {self.hit:,} hit"
        why = "; ".join(f"{number:,} missed: {reason}" for reason, number in self.missed.items())
        why = why or ("" if windows else "because it never had an occasion")
        return ", ".join(filter(None, [said, why]))


class VerdictDocument(Struct, frozen=True, kw_only=True):
    """verdict.json: fields may be added, never renamed.

    `target`: its name in the history's header; null for a history of another tool.
    `history`: the path of the judged file; null if there was no file.
    `reason_kinds`, `reason_arguments`: of each reason, what it is about; its words may change.
    `anomalies`: the count of every anomaly that was checked, including 0.
    `findings`: the violations. `counted`: the first findings that make no run invalid, but that the
    target names or that are violations elsewhere.
    `hazards`: null if no fault endangered a lock, and the target has none that can.
    `windows`: of each fault of the target; empty if plan.json does not say.
    `interrupted`: null for a run that worked as long as planned, or if that is not known.
    """

    version: Literal[1] = field(name="schema", default=1)
    target: str | None = None
    history: str | None = None
    verdict: VerdictWord
    expected: Literal["valid"] | list[str]
    as_expected: bool
    reasons: list[str]
    reason_kinds: list[str] = []
    reason_arguments: list[list[str]] = []
    anomalies: dict[str, int]
    findings: list[FindingDocument]
    counted: list[FindingDocument] = []
    coverage: dict[str, int]
    hazards: HazardsDocument | None = None
    windows: list[WindowsDocument] = []
    checkers: list[CheckerDocument]
    notices: list[str] = []
    interrupted: InterruptionDocument | None = None

    @property
    def named(self) -> list[str]:
        """The anomalies that had to be found; none if the run had to be valid."""
        return [] if self.expected == "valid" else list(self.expected)

    def reasons_of(self, *kinds: ReasonKind) -> list[Reason]:
        """Return the reasons of some kinds; none from a document that does not name their kinds."""
        return [reason for reason in self.typed_reasons if reason.kind in kinds]

    @property
    def typed_reasons(self) -> list[Reason]:
        """The reasons with their kinds; none from an older document, which has to be judged again."""
        known = zip(self.reason_kinds, self.reason_arguments, strict=False)
        return [Reason(ReasonKind(kind), *arguments) for kind, arguments in known if kind in set(ReasonKind)]

    @property
    def violations(self) -> Counter[str]:
        """Count the violations of each name, in the order of the findings."""
        return Counter(name for each in self.findings for name in (each.anomaly, *each.also))

    def as_dict(self) -> dict[str, Any]:
        """Return the document as written to verdict.json."""
        document: dict[str, Any] = to_builtins(self)
        return document
