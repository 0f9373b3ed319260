"""What a night found: each cell with its runs and status, and each failure with its fingerprint."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.text.printable import printable, shorten
from harness.campaign.campaign_file import Quarantine
from harness.campaign.canary import PREFIX, TWIN, is_canary
from harness.campaign.cells import CampaignCell
from harness.campaign.execution import Finished
from harness.campaign.night import NightPlan
from harness.campaign.schedule import Job
from harness.campaign.status import CleanRuns, Rate, RunOutcome, Status, clean_runs, rate, status
from harness.core.exit_codes import ExitCode, of_several
from harness.core.grouping import grouped
from harness.report.first_finding import Finding, fingerprint, is_of_older_form, primary
from harness.report.sentences import count

_OUTCOMES: Mapping[int, RunOutcome] = {
    ExitCode.AS_EXPECTED: RunOutcome.PASSED,
    ExitCode.VIOLATION: RunOutcome.FAILED,
    ExitCode.UNKNOWN: RunOutcome.UNKNOWN,
}
"""Every other end of a run is an infrastructure failure."""
_UNDECIDED = {RunOutcome.UNKNOWN, RunOutcome.NOT_JUDGED, RunOutcome.INFRASTRUCTURE}
NO_CAMPAIGN = (
    "the shards were joined without --campaign: no failure is quarantined, and no history is removed"
)
FOUND = "violation found as expected"
_MOST_SAID = 1_000  # characters: paths may be long
_MOST_LISTED = 10  # runs that were judged differently


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedRun:
    """One run that has ended, and what it means."""

    finished: Finished
    outcome: RunOutcome
    fingerprint: str | None  # of a failure
    quarantine: Quarantine | None = None

    @property
    def finding(self) -> Finding | None:
        """The finding that it is named after."""
        return primary(self.finished.verdict) if self.finished.verdict else None

    @property
    def headline(self) -> str:
        """What it found, in one sentence."""
        verdict = self.finished.verdict
        if self.finished.not_judged:
            return f"not judged again: {self.finished.not_judged}"
        if verdict is None:
            return _reason(self.finished) or "it ended without a verdict"
        if self.outcome is RunOutcome.PASSED:
            return "; ".join([f"{verdict['verdict']}, as expected", *verdict["reasons"]])
        if finding := self.finding:
            return f"{finding['anomaly']}: {finding['summary']}"
        return "; ".join(verdict["reasons"]) or f"{verdict['verdict']}, as expected"


def _reason(of: Finished) -> str:
    """The sentence of a run's error; if its process could not tell it, its last line that quotes nothing."""
    said = [line for line in of.message.splitlines() if line and not line.startswith(" ")]
    return printable(of.error or (said or [""])[-1]).removesuffix(":")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """A cell after a night."""

    cell: CampaignCell
    runs: tuple[AssessedRun, ...]  # without reproductions
    reproductions: tuple[AssessedRun, ...]
    status: Status
    rate: Rate  # since the status last changed, tonight's runs included
    clean: CleanRuns | None  # of a cell that has failed before and did not tonight, unless it is passing
    left: tuple[Job, ...]  # runs that did not fit into the budget

    @property
    def not_run(self) -> int:
        """How many runs did not fit into the budget."""
        return len(self.left)

    @property
    def said(self) -> str:
        """The status in words: a cell that passes because its violation was found does not only pass."""
        found = any(
            run.outcome is RunOutcome.PASSED and (run.finished.verdict or {}).get("verdict") == "invalid"
            for run in self.runs
        )
        return FOUND if found and self.status is Status.PASSING else self.status.value

    def counted(self, name: str) -> int:
        """How often its runs counted something of their coverage, such as stale_writes_attempted."""
        return sum((run.finished.verdict or {}).get("coverage", {}).get(name, 0) for run in self.runs)

    @property
    def failures(self) -> tuple[AssessedRun, ...]:
        """The runs that failed, quarantined ones included."""
        return tuple(run for run in self.runs if run.outcome in {RunOutcome.FAILED, RunOutcome.QUARANTINED})

    @property
    def undecided(self) -> tuple[AssessedRun, ...]:
        """The runs that neither passed nor failed."""
        return tuple(run for run in self.runs if run.outcome in _UNDECIDED)

    def reproduced(self, failure: AssessedRun) -> str:
        """Say how often a failure occurred again with its seed and plan; "" if that was not tried."""
        again = [
            run
            for run in self.reproductions
            if run.finished.job.seed == failure.finished.job.seed
            and run.outcome is not RunOutcome.INFRASTRUCTURE
        ]
        came = sum(run.outcome in {RunOutcome.FAILED, RunOutcome.QUARANTINED} for run in again)
        return f"reproduced {came} of {len(again)}" if again else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """Did a night find the planted bug, and clear its twin?"""

    bug: str
    missed: str = ""  # why it did not; "": it did

    def __str__(self) -> str:
        return f"the canary {self.bug} was {f'missed: {self.missed}' if self.missed else 'found'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A night as a whole."""

    plan: NightPlan
    cells: tuple[CellResult, ...]
    notices: tuple[str, ...]  # about shards, and quarantines that no longer hide a failure
    canary: Canary | None

    @property
    def runs(self) -> tuple[AssessedRun, ...]:
        """All runs that count, reproductions apart."""
        return tuple(run for result in self.cells for run in result.runs)

    @property
    def listed(self) -> tuple[CellResult, ...]:
        """The cells that people ask about: those of the canary only if it was missed."""
        if self.canary and self.canary.missed:
            return self.cells
        return tuple(result for result in self.cells if not is_canary(result.cell.name))

    @property
    def not_judged(self) -> int:
        """How many runs of shards could not be judged again."""
        return sum(run.outcome is RunOutcome.NOT_JUDGED for run in self.runs)

    def exit_code(self, *, allow_unknown: bool) -> ExitCode:
        """The code of several runs; quarantined failures are expected, a missed canary is a violation.

        A missing shard is an infrastructure failure, and so are other cells than the campaign's, and the
        outcome of a target that is wrong or that the engine can never run, but its code stays that of a
        wrong configuration.
        """
        unknown = ExitCode.AS_EXPECTED if allow_unknown else ExitCode.UNKNOWN
        codes = dict.fromkeys((RunOutcome.PASSED, RunOutcome.QUARANTINED), ExitCode.AS_EXPECTED)
        codes |= dict.fromkeys((RunOutcome.UNKNOWN, RunOutcome.NOT_JUDGED), unknown)
        codes |= {RunOutcome.FAILED: ExitCode.VIOLATION, RunOutcome.INFRASTRUCTURE: ExitCode.INFRASTRUCTURE}
        found = [codes[run.outcome] for run in self.runs]
        if any(run.finished.exit_code == ExitCode.CONFIGURATION for run in self.runs):
            found.append(ExitCode.CONFIGURATION)
        found += [ExitCode.VIOLATION] * bool(self.canary and self.canary.missed)
        found += [ExitCode.INFRASTRUCTURE] * bool(self.plan.missing or self.plan.unlike)
        return of_several(found)


def assess(
    plan: NightPlan,
    finished: Sequence[Finished],
    *,
    before: Mapping[str, Sequence[RunOutcome]],
    quarantine: Sequence[Quarantine] | None,
    today: dt.date,
) -> Assessment:
    """Compare the runs of a night with those before it, the oldest first.

    `quarantine`: None for shards that were joined without a campaign file.
    """
    planned = grouped((job.cell, job) for job in plan.jobs)
    valid = in_force(quarantine or (), today)
    runs = grouped((each.job.cell, run_of(each, valid)) for each in finished)
    results = tuple(
        _of_cell(cell, runs.get(cell.name, []), before.get(cell.name, ()), planned.get(cell.name, ()))
        for cell in plan.cells
    )
    return Assessment(
        plan=plan,
        cells=results,
        notices=(
            *(f"shard {shard} is missing: its runs are not in this night" for shard in plan.missing),
            *map(shorten, plan.unlike),
            *_notices_of_shards(finished),
            *([NO_CAMPAIGN] if quarantine is None else _quarantine_notices(quarantine, today)),
            *([shorten(plan.not_compared, _MOST_SAID)] if plan.not_compared else []),
        ),
        canary=_canary(plan.canary, results) if plan.canary else None,
    )


def in_force(quarantine: Iterable[Quarantine], today: dt.date) -> Mapping[str, Quarantine]:
    """Return the quarantines that hold today, by fingerprint."""
    return {each.fingerprint: each for each in quarantine if today <= each.until}


def _quarantine_notices(quarantine: Sequence[Quarantine], today: dt.date) -> Iterator[str]:
    for each in quarantine:
        if today > each.until:
            yield f"a quarantine has expired: {each.reason} (until {each.until})"
        elif is_of_older_form(each.fingerprint):
            yield (
                f"a quarantine matches nothing: {each.reason}: {each.fingerprint} is a fingerprint of an"
                " earlier version of Fencepost; replace it with the one that the failure has now"
            )


def _notices_of_shards(finished: Iterable[Finished]) -> Iterator[str]:
    different = [each for each in finished if each.differences]
    for each in different[:_MOST_LISTED]:
        yield f"judged again, {each.job.id} is no longer what its shard says: {each.differences}"
    if more := len(different[_MOST_LISTED:]):
        yield f"{count(more, 'more run')} judged again with a difference: see `differences` in campaign.json"


def _canary(bug: str, results: Sequence[CellResult]) -> Canary:
    cells = {result.cell.name: result for result in results if is_canary(result.cell.name)}
    missed = [f"{name} was not run" for name in (bug, bug + TWIN) if PREFIX + name not in cells]
    for name, result in cells.items():
        missed += [run.headline for run in result.runs if run.outcome is not RunOutcome.PASSED]
        missed += [f"{name.removeprefix(PREFIX)} was not run"] * bool(result.not_run)
    return Canary(bug=bug, missed="; ".join(dict.fromkeys(missed)))


def run_of(finished: Finished, quarantine: Mapping[str, Quarantine]) -> AssessedRun:
    """Say what one run means."""
    if finished.not_judged:
        return AssessedRun(finished=finished, outcome=RunOutcome.NOT_JUDGED, fingerprint=None)
    outcome = _OUTCOMES.get(finished.exit_code, RunOutcome.INFRASTRUCTURE)
    if outcome is RunOutcome.UNKNOWN and is_canary(finished.job.cell):
        outcome = RunOutcome.FAILED  # the bug is certainly there
    if outcome is not RunOutcome.FAILED or finished.verdict is None:
        return AssessedRun(finished=finished, outcome=outcome, fingerprint=None)
    shape = fingerprint(finished.job.cell, finished.verdict)
    known = None if is_canary(finished.job.cell) else quarantine.get(shape)
    return AssessedRun(
        finished=finished,
        outcome=RunOutcome.QUARANTINED if known else outcome,
        fingerprint=shape,
        quarantine=known,
    )


def _of_cell(
    cell: CampaignCell, runs: Sequence[AssessedRun], before: Sequence[RunOutcome], planned: Sequence[Job]
) -> CellResult:
    first = tuple(run for run in runs if not run.finished.job.reproduction)
    ended = {run.finished.job.id for run in first}
    tonight = [run.outcome for run in first]
    result = status(tonight, before)
    may_be_fixed = (
        result in {Status.NOT_SEEN, Status.FIXED, Status.FLAKY} and RunOutcome.FAILED not in tonight
    )
    return CellResult(
        cell=cell,
        runs=first,
        reproductions=tuple(run for run in runs if run.finished.job.reproduction),
        status=result,
        rate=rate(tonight, before),
        clean=clean_runs([*before, *tonight]) if may_be_fixed else None,
        left=tuple(job for job in planned if job.id not in ended),
    )
