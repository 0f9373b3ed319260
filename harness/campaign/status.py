"""What a night means for a cell: new, still failing, regressed, fixed, flaky; and how certain that is."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.report.sentences import count

WINDOW = 30
"""Most runs over which a rate is counted, and a failure remembered."""
ENOUGH = 10
"""Runs from which a rate has bounds: of fewer, they would say nothing."""

SURE = 0.99
_Z = 1.959964  # of a 95 % interval


class RunOutcome(enum.StrEnum):
    """How a run ended, compared with what its target expects."""

    PASSED = "passed"
    FAILED = "failed"  # a violation, or an expected one was not found
    UNKNOWN = "unknown"  # not exercised, or undecided
    NOT_JUDGED = "not-judged"  # of a shard, and its history cannot be judged again
    INFRASTRUCTURE = "infrastructure"
    QUARANTINED = "quarantined"  # failed, in a way that is known


class Status(enum.StrEnum):
    """The status of a cell after a night."""

    NEW = "new failure"
    STILL_FAILING = "still failing"
    REGRESSED = "regressed"
    FLAKY = "flaky"
    FIXED = "fixed"
    PASSING = "passing"
    UNKNOWN = "unknown"
    NOT_JUDGED = "not judged again"
    INFRASTRUCTURE = "infrastructure failure"
    QUARANTINED = "quarantined"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something failed, with a 95 % confidence interval (Wilson)."""

    failed: int
    runs: int
    tonight: bool = False  # are all of these runs tonight's?

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the rate; (0, 1) where there were no runs."""
        if not self.runs:
            return (0.0, 1.0)
        share, weight = self.failed / self.runs, _Z * _Z / self.runs
        middle = (share + weight / 2) / (1 + weight)
        half = _Z * math.sqrt(share * (1 - share) / self.runs + weight / (4 * self.runs)) / (1 + weight)
        return (max(0.0, middle - half), min(1.0, middle + half))

    def __str__(self) -> str:
        low, high = self.interval
        counted = f"{self.failed or 'none'} of {self.runs} failed{' tonight' * self.tonight}"
        return f"{counted} ({low:.0%}–{high:.0%})" if self.failed and self.runs >= ENOUGH else counted


@dataclass(frozen=True, slots=True)
class FixConfidence:
    """How certain it is that a flaky failure is gone, after some clean runs."""

    clean: int
    former: float  # the rate at which it failed before

    @property
    def confidence(self) -> float:
        """The probability that this many runs would have shown it."""
        return 1 - (1 - self.former) ** self.clean

    @property
    def more(self) -> int:
        """How many more clean runs give 99 %."""
        needed = math.ceil(math.log(1 - SURE) / math.log(1 - self.former))
        return max(0, needed - self.clean)

    def __str__(self) -> str:
        runs = f"{count(self.clean, 'clean run')} at a former rate of {self.former:.0%}"
        more = f"; {self.more} more give {SURE:.0%}" if self.more else ""
        return f"{runs}: {self.confidence:.0%} sure{more}"


def status(tonight: Sequence[RunOutcome], before: Sequence[RunOutcome]) -> Status:
    """Compare a cell's runs of tonight with those of earlier nights, the oldest first."""
    if not tonight:
        return Status.NOT_RUN
    decided = _decided(tonight)
    if not decided:
        return _worst_undecided(tonight)
    earlier = _decided(before)[-WINDOW:]
    failed, had_failed = RunOutcome.FAILED in decided, RunOutcome.FAILED in earlier
    if failed and RunOutcome.PASSED in decided:
        return Status.FLAKY
    if failed:
        return _failing(earlier)
    if not had_failed:
        return Status.PASSING
    return Status.FLAKY if _changes(earlier) > 1 else Status.FIXED


def rate(tonight: Sequence[RunOutcome], before: Sequence[RunOutcome]) -> Rate:
    """Count how often a cell failed since its status last changed, in its last runs.

    Without a decided run tonight, it is the rate that the cell had before.
    """
    now, earlier = _decided(tonight), _decided(before)
    if is_tonight := bool(now):
        shown = status(now, earlier)
    elif earlier:
        *earlier, last = earlier
        now, shown = [last], status([last], earlier)
    else:
        return Rate(0, 0)
    counted = list(now)
    while earlier and len(counted) < WINDOW and _continues(shown, earlier):
        counted.insert(0, earlier.pop())
        is_tonight = False
    counted = counted[-WINDOW:]
    return Rate(counted.count(RunOutcome.FAILED), len(counted), is_tonight)


def _continues(shown: Status, outcomes: Sequence[RunOutcome]) -> bool:
    """Did a cell have this status already after its last run before?

    A flaky cell was passing until its first failure for a long time; any other status is that of equal runs.
    """
    *before, last = outcomes
    if shown is Status.FLAKY:
        return status([last], before) is not Status.PASSING
    return last is (RunOutcome.PASSED if shown in {Status.PASSING, Status.FIXED} else RunOutcome.FAILED)


def _decided(outcomes: Iterable[RunOutcome]) -> list[RunOutcome]:
    return [each for each in outcomes if each in {RunOutcome.PASSED, RunOutcome.FAILED}]


def _worst_undecided(tonight: Sequence[RunOutcome]) -> Status:
    return next(status for outcome, status in _UNDECIDED.items() if outcome in tonight)


_UNDECIDED: Mapping[RunOutcome, Status] = {
    RunOutcome.INFRASTRUCTURE: Status.INFRASTRUCTURE,
    RunOutcome.NOT_JUDGED: Status.NOT_JUDGED,
    RunOutcome.UNKNOWN: Status.UNKNOWN,
    RunOutcome.QUARANTINED: Status.QUARANTINED,
}
"""The most urgent first."""


def _failing(earlier: Sequence[RunOutcome]) -> Status:
    if RunOutcome.FAILED not in earlier:
        return Status.NEW
    if earlier[-1] is RunOutcome.FAILED:
        return Status.STILL_FAILING
    return Status.FLAKY if _changes(earlier) > 1 else Status.REGRESSED


def _changes(earlier: Sequence[RunOutcome]) -> int:
    """How often a cell went from passing to failing or back."""
    return sum(one is not other for one, other in itertools.pairwise(earlier))


def fix_confidence(outcomes: Sequence[RunOutcome]) -> FixConfidence | None:
    """How certainly a flaky cell is fixed, by the clean runs since its last failure.

    `outcomes` are all of its runs, the oldest first. None for a cell that never failed, or that did in
    several runs on end and before that in none: something was broken then. One failure alone may be chance.
    """
    decided = _decided(outcomes)
    if RunOutcome.FAILED not in decided:
        return None
    last = max(index for index, each in enumerate(decided) if each is RunOutcome.FAILED)
    until, clean = decided[max(0, last + 1 - WINDOW) : last + 1], len(decided) - last - 1
    failures = until.count(RunOutcome.FAILED)
    is_flaky = failures < len(until) and (failures == 1 or RunOutcome.PASSED in until[-failures:])
    return FixConfidence(clean, failures / len(until)) if clean and is_flaky else None
