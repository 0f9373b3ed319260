"""The answer of a run in a few words, for terminal and page: what happened, why it matters, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checkers.facts.evidence import seen_in
from checkers.facts.hindrances import hindrance_of
from checkers.history.columns import ACQUIRE, RELEASE, Operations
from checkers.history.records import History
from checkers.vocabulary.anomalies import ANOMALIES, DOUBTS
from checkers.vocabulary.anomaly import Anomaly
from checkers.vocabulary.document import VerdictDocument
from checkers.vocabulary.reasons import NEVER_TESTED, USUAL, Reason, ReasonKind
from checkers.vocabulary.rule_words import described
from harness.report import advice
from harness.report.effort import executions, moments, no_fault_counted, refused
from harness.report.headline import CONTRADICTION, STALE_WRITE, UNDECIDED, RunAnswer, Tone, terms_of
from harness.report.interruption import in_words
from harness.report.sentences import capitalized, count
from harness.spec.reading import shipped, zoo


def answer(document: VerdictDocument, target: str, history: History | None = None) -> RunAnswer:
    """Sum up a verdict document; `target` names what was run, `history` is what was judged."""
    verdict = _Verdict(document, target, history)
    if verdict.document.verdict == "unknown":
        return _not_tested(verdict) if verdict.not_exercised else _undecided(verdict)
    if verdict.unexpected:
        return _bug_found(verdict)
    if verdict.missing:
        return _not_found(verdict)
    if not verdict.document.as_expected:
        return _contradiction(verdict)
    if verdict.document.named:
        return _worked(verdict)
    return _held(verdict)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A verdict, and the name of what was run."""

    document: VerdictDocument
    target: str
    history: History | None

    @property
    def not_exercised(self) -> list[Reason]:
        """What the run did not do, if that is the only reason."""
        short = self.document.reasons_of(*NEVER_TESTED)
        return short if len(short) == len(self.document.reasons) else []

    @property
    def exercise_it(self) -> str:
        """What to do about what the run did not do; the history may show what kept it from that."""
        remedies = (each.arguments[1] for each in self.document.reasons_of(ReasonKind.NOT_EXERCISED))
        if special := next((each for each in remedies if each not in USUAL), None):
            return f"{capitalized(special)}."
        had_faults = self.history is not None and self.history.faults
        usual = advice.EXERCISE_JOBS if "executions" in self.document.coverage else advice.EXERCISE_IT
        return self.advises(advice.EXERCISE_IT_MORE if had_faults else usual, advice.EXERCISE_IT_WITH_FAULTS)

    def advises(self, usually: str, without_faults: str) -> str:
        """Say what to do; a run with --no-faults gets other advice."""
        chosen = self.history is not None and self.history.header.no_faults
        return without_faults if chosen else usually

    @property
    def make_one_count(self) -> str:
        """What to do so that a fault counts; the history may show what kept all of them from that."""
        found = None if self.history is None else hindrance_of(seen_in(self.history))
        return advice.COUNT_A_FAULT if found is None else f"{capitalized(found)}."

    @property
    def unexpected(self) -> list[str]:
        """The violations that the target does not name."""
        named = [reason.arguments[0] for reason in self.document.reasons_of(ReasonKind.UNEXPECTED)]
        if self.document.as_expected:
            return []
        own = [name for name in self.document.violations if name in named or not self.document.named]
        return own or [name for name in named if name in ANOMALIES]

    @property
    def missing(self) -> list[str]:
        """What the target must show and did not."""
        document = self.document
        found = {**document.anomalies, **document.violations}
        return [name for name in document.named if not found.get(name)]

    def described(self, name: str) -> Anomaly | None:
        """An anomaly, in the words that fit all that was found of it."""
        rules = {finding.rule for finding in self.document.findings if finding.anomaly == name}
        return described(name, rules.pop() if len(rules) == 1 else "")

    def of(self, name: str | None, attribute: str, otherwise: str) -> str:
        """What is said of an anomaly, or else of a run without any."""
        anomaly = None if name is None else self.described(name)
        return str(getattr(anomaly, attribute)) if anomaly else otherwise

    def count(self, name: str) -> int:
        return self.document.anomalies.get(name) or self.document.violations.get(name) or 1

    @property
    def counted(self) -> dict[str, int]:
        """Findings that make no run invalid, but are explained."""
        explained = dict.fromkeys(finding.anomaly for finding in self.document.counted)
        return {
            name: self.count(name) - self.document.violations[name]
            for name in explained
            if self.count(name) > self.document.violations[name]
        }

    @property
    def has_lock(self) -> bool:
        """Did any client ask for a lock? A register of another tool has none."""
        if self.history is None or self.document.coverage.get("grants"):
            return True
        return bool(len(Operations.of(self.history.operations).columns.rows(ACQUIRE, RELEASE)))

    @property
    def interrupted(self) -> str:
        """Where the run was interrupted, if it was: "interrupted at 5 of 20 s"."""
        return in_words(self.document.interrupted)

    def says(
        self, tone: Tone, label: str, happened: str, *, matters: str, remedy: str, about: Sequence[str] = ()
    ) -> RunAnswer:
        """Make an answer, with the parts that all have in common."""
        document = self.document
        anomaly = self.described(about[0]) if about else None
        expected = "as this target expects" if document.as_expected else "not as this target expects"
        expectation = "" if document.verdict == "unknown" else f", {expected}"
        is_valid = document.verdict == "valid"
        is_counted = is_valid and anomaly is not None and document.anomalies.get(anomaly.name)
        only = " (what it found is counted, not a violation)" if is_counted else ""
        if self.interrupted and is_valid:
            expectation = " so far; unknown for the whole run, which was cut short"
        return RunAnswer(
            tone=tone,
            label=label,
            happened=happened,
            verdict=f"Verdict: {document.verdict}{expectation}{only}",
            matters=matters,
            remedy=remedy,
            terms=terms_of(anomaly),
            twin=correct_twin(self.target) if anomaly else None,
            anomaly=anomaly,
            leads=tuple(about),
            interrupted=self.interrupted,
        )

    def happened(self, names: Iterable[str]) -> str:
        """Say what happened, for each of these anomalies."""
        return " and ".join(self.happened_so_often(name, self.count(name)) for name in names)

    def happened_so_often(self, name: str, count: int) -> str:
        anomaly = self.described(name)
        return anomaly.happened(count) if anomaly else times({name: count})


def _bug_found(verdict: _Verdict) -> RunAnswer:
    lead = verdict.unexpected[0]
    return verdict.says(
        Tone.BAD,
        "BUG",
        verdict.happened([lead]),
        matters=verdict.of(lead, "matters", "The run broke what the target promises."),
        remedy=verdict.of(lead, "remedy", "See the findings below."),
        about=[lead],
    )


def _worked(verdict: _Verdict) -> RunAnswer:
    leads = verdict.document.named
    return verdict.says(
        Tone.GOOD,
        "Found as planned" if is_planted(verdict.target) else "Found as expected",
        verdict.happened(leads),
        matters=verdict.of(leads[0], "matters", ""),
        remedy=verdict.of(leads[0], "remedy", ""),
        about=leads,
    )


def _not_found(verdict: _Verdict) -> RunAnswer:
    names = " and ".join(verdict.missing)
    if verdict.interrupted:
        return verdict.says(
            Tone.NEUTRAL,
            capitalized(verdict.interrupted),
            f"until then the run had not found {names}, which this target expects",
            matters="An interrupted run may end before the bug appears.",
            remedy=advice.RUN_TO_THE_END,
            about=verdict.missing,
        )
    found = f" (found {times(verdict.document.violations)})" if verdict.document.violations else ""
    return verdict.says(
        Tone.BAD,
        "Planted bug not found" if is_planted(verdict.target) else "Not found",
        f"this target expects {names}, but this run did not find it{found}",
        matters="A test that misses a known bug proves nothing when it finds none.",
        remedy=verdict.advises(advice.FIND_IT, advice.FIND_IT_WITH_FAULTS),
        about=verdict.missing,
    )


def _held(verdict: _Verdict) -> RunAnswer:
    counts = verdict.document.coverage
    lost = [verdict.happened_so_often(name, number) for name, number in verdict.counted.items()]
    but = f"; but {' and '.join(lost)}" if lost else ""
    lead = next(iter(verdict.counted), None)
    if counts.get("stale_writes_rejected"):
        label, happened, matters = "The fence held", refused(counts), advice.FENCED
    elif counts.get("executions"):
        label, happened, matters = "Nothing wrong was found", executions(counts), advice.NO_JOB_TWICE
    elif not verdict.has_lock:
        label, happened, matters = "Nothing wrong was found", advice.IN_ORDER, advice.NO_LOCK
    else:
        label = "Nothing wrong was found"
        happened = f"the lock was granted {count(counts.get('grants', 0), 'time')}"
        matters = advice.NONE_REFUSED if counts.get("stale_writes_attempted") else advice.UNFENCED
    tone, advised = Tone.GOOD, verdict.advises(advice.RUN_MORE, advice.RUN_OTHER_SEEDS)
    if no_fault_counted(verdict.document):
        tone, label, happened = Tone.NEUTRAL, advice.NO_FAULT, f"{label[0].lower()}{label[1:]}, {happened}"
        matters, advised = advice.NOTHING_TRIED, verdict.make_one_count
    if verdict.interrupted:
        happened = f"until then {label[0].lower()}{label[1:]}, {happened}"
        tone, label, advised = Tone.NEUTRAL, capitalized(verdict.interrupted), advice.RUN_TO_THE_END
    said = verdict.says(
        tone,
        label,
        ", ".join(filter(None, [happened, moments(verdict.document)])) + but,
        matters=verdict.of(lead, "matters", matters),
        remedy=verdict.of(lead, "remedy", advised),
        about=list(verdict.counted),
    )
    return said if lead or not counts.get("stale_writes_rejected") else replace(said, terms=STALE_WRITE)


def _not_tested(verdict: _Verdict) -> RunAnswer:
    never_could = verdict.document.reasons_of(ReasonKind.UNTESTABLE)[:1]
    short = [*dict.fromkeys(reason.arguments[0] for reason in never_could or verdict.not_exercised)]
    counts = verdict.document.coverage
    unseen = advice.LEASE_KEPT if "executions" in counts else advice.NO_FENCE_SEEN
    said = verdict.says(
        Tone.UNSURE,
        "Not tested",
        " and ".join(short),
        matters=advice.NOT_ALL if counts.get("stale_writes_rejected") else unseen,
        remedy=f"{capitalized(never_could[0].arguments[1])}." if never_could else verdict.exercise_it,
    )
    return said if "executions" in counts else replace(said, terms=STALE_WRITE)


def _undecided(verdict: _Verdict) -> RunAnswer:
    doubts = [name for name in DOUBTS if verdict.counted.get(name)]
    remedies = [
        *(each for kind, each in advice.UNDECIDED.items() if verdict.document.reasons_of(kind)),
        *[verdict.exercise_it] * bool(verdict.document.reasons_of(*NEVER_TESTED)),
        *(ANOMALIES[name].remedy for name in doubts),
    ]
    return verdict.says(
        Tone.UNSURE,
        UNDECIDED,
        _reasons(verdict.document) or "nothing could be judged",
        matters=verdict.of(next(iter(doubts), None), "matters", advice.NOT_JUDGED),
        remedy=" ".join(remedies) or "Run it again.",
        about=doubts,
    )


def _contradiction(verdict: _Verdict) -> RunAnswer:
    return verdict.says(
        Tone.BAD,
        CONTRADICTION,
        "; ".join(verdict.document.reasons) or "the run is not as expected",
        matters="The clients and the storage's own order cannot both be right.",
        remedy="Look at how the storage logs its order of writes, and at the findings below.",
    )


def _reasons(document: VerdictDocument) -> str:
    """All reasons; what was not tested has its remedy elsewhere."""
    typed = document.typed_reasons
    if len(typed) < len(document.reasons):  # an older document
        return "; ".join(document.reasons)
    return "; ".join(each.arguments[0] if each.kind in NEVER_TESTED else each for each in typed)


_RIGHT = ("{bug}-twin", "{bug}-fence-on-acquire")
_UNFENCED = "-unfenced"


def correct_twin(target: str) -> Path | None:
    """The correct twin of a shipped target; None if it has none."""
    known = shipped() | zoo()
    names = [name.format(bug=target) for name in _RIGHT]
    if target.endswith(_UNFENCED):
        names.append(target.removesuffix(_UNFENCED))
    return next((known[name] for name in names if name in known), None)


def is_planted(target: str) -> bool:
    """Was its bug planted: is it an exhibit of the zoo, or a storage without a fence?"""
    return target in zoo() or (target.endswith(_UNFENCED) and target in shipped())


def times(found: Mapping[str, int]) -> str:
    """Write counts of anomalies: "stale-write ×3"."""
    return ", ".join(f"{name} ×{number:,}" for name, number in found.items())
