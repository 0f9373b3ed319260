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

FIXED_BELOW = 0.01
"""The chance of missing a failure by luck, below which it is called fixed."""
_Z = 1.959964  # of a 95 % interval


class RunOutcome(enum.StrEnum):
    """How a run ended, compared with what its target expects."""

    PASSED = "passed"
    FAILED = "failed"  # a violation, or an expected one was not found
    UNKNOWN = "unknown"  # not tested, or undecided
    NOT_JUDGED = "not-judged"  # of a shard, and its history cannot be judged again
    INFRASTRUCTURE = "infrastructure"
    QUARANTINED = "quarantined"  # failed, in a way that is known


class Status(enum.StrEnum):
    """The status of a cell after a night."""

    NEW = "new failure"
    STILL_FAILING = "still failing"
    REGRESSED = "regressed"
    FLAKY = "flaky"
    NOT_SEEN = "not seen tonight"  # and chance may explain that
    FIXED = "fixed"
    PASSING = "passing"
    UNKNOWN = "unknown"
    NOT_JUDGED = "not judged again"
    INFRASTRUCTURE = "infrastructure failure"
    QUARANTINED = "quarantined"
    NOT_RUN = "not run"


GOOD, BAD, UNSURE, NEUTRAL = "good", "bad", "unsure", "neutral"

TONES: Mapping[Status, str] = {
    Status.NEW: BAD,
    Status.REGRESSED: BAD,
    Status.STILL_FAILING: BAD,
    Status.FLAKY: BAD,
    Status.INFRASTRUCTURE: UNSURE,
    Status.NOT_JUDGED: UNSURE,
    Status.UNKNOWN: UNSURE,
    Status.QUARANTINED: NEUTRAL,
    Status.NOT_SEEN: UNSURE,
    Status.FIXED: GOOD,
    Status.NOT_RUN: NEUTRAL,
    Status.PASSING: GOOD,
}
"""The tone of each status decides its symbol and its color; the most urgent comes first."""
BY_URGENCY = (*TONES,)


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
class CleanRuns:
    """Runs that passed since a cell last failed: is it fixed, or was the failure missed by chance?

    If nothing has changed since the first failure, every order of the runs after it is equally likely. The
    chance of the clean runs is the share of orders in which no failure is among the last ones. The first
    failure itself is not counted, because it is the reason why counting begins there.
    """

    clean: int
    failed: int  # from the first failure to the last one, both included
    runs: int  # all in between, too

    @property
    def chance(self) -> float:
        """The chance of so many clean runs if nothing has changed."""
        return self._chance(self.clean)

    @property
    def are_a_fix(self) -> bool:
        """Is that chance so small that the cell is called fixed?"""
        return self.chance < FIXED_BELOW

    @property
    def more(self) -> int | None:
        """How many more clean runs make it fixed; None if the failure is forgotten before."""
        enough = (clean for clean in range(self.clean, WINDOW + 1) if self._chance(clean) < FIXED_BELOW)
        return next((clean - self.clean for clean in enough), None)

    def _chance(self, clean: int) -> float:
        runs, failed = self.runs - 1, self.failed - 1
        return math.comb(runs, failed) / math.comb(runs + clean, failed)

    def __str__(self) -> str:
        seen = f"{count(self.clean, 'clean run')} after {self.failed} of {self.runs} failed"
        if self.are_a_fix:
            return f"{seen}: the chance of that is less than {FIXED_BELOW:.0%} if nothing has changed"
        if self.failed == 1:
            return f"{seen}: one failure does not show how often it fails, so it is not called fixed"
        share = f"{self.chance:.0%}" if self.chance >= 0.1 else f"{self.chance:.1%}"  # noqa: PLR2004 (two digits)
        chance = f"{seen}: the chance of that is {share} if nothing has changed"
        if self.more is None:
            return f"{chance}; it fails too rarely to be called fixed within {WINDOW} clean runs"
        return f"{chance}; after {count(self.more, 'more clean run')} it is called fixed"


def status(tonight: Sequence[RunOutcome], before: Sequence[RunOutcome]) -> Status:
    """Compare a cell's runs of tonight with those of earlier nights, the oldest first."""
    if not tonight:
        return Status.NOT_RUN
    decided = _decided(tonight)
    if not decided:
        return next(status for outcome, status in _UNDECIDED.items() if outcome in tonight)
    earlier = _decided(before)[-WINDOW:]
    failed = RunOutcome.FAILED in decided
    if failed and RunOutcome.PASSED in decided:
        return Status.FLAKY
    if failed:
        return _failing(earlier)
    if RunOutcome.QUARANTINED in tonight:
        return Status.QUARANTINED
    return _clean(before, tonight)


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
    clean = {Status.PASSING, Status.NOT_SEEN, Status.FIXED}
    return last is (RunOutcome.PASSED if shown in clean else RunOutcome.FAILED)


_SHOWN = {RunOutcome.PASSED, RunOutcome.FAILED, RunOutcome.QUARANTINED}
"""Outcomes that say whether a failure occurred."""


def _decided(outcomes: Iterable[RunOutcome]) -> list[RunOutcome]:
    return [each for each in outcomes if each in {RunOutcome.PASSED, RunOutcome.FAILED}]


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


def _clean(before: Sequence[RunOutcome], tonight: Sequence[RunOutcome]) -> Status:
    """The status of a cell that passed tonight."""
    was, now = clean_runs(before), clean_runs([*before, *tonight])
    if was is None or now is None or was.clean >= WINDOW or was.are_a_fix:
        return Status.PASSING
    if now.are_a_fix:
        return Status.FIXED
    return Status.FLAKY if _changes(_decided(before)[-WINDOW:]) > 1 else Status.NOT_SEEN


def _changes(earlier: Sequence[RunOutcome]) -> int:
    """How often a cell went from passing to failing or back."""
    return sum(one is not other for one, other in itertools.pairwise(earlier))


def clean_runs(outcomes: Sequence[RunOutcome]) -> CleanRuns | None:
    """Count the clean runs since a cell last failed; `outcomes` are all of its runs, the oldest first.

    None if no run before the last clean ones failed. A quarantined failure is one.
    """
    failed = [each is not RunOutcome.PASSED for each in outcomes if each in _SHOWN]
    if True not in failed:
        return None
    clean = failed[::-1].index(True)
    until = failed[: len(failed) - clean][-WINDOW:]
    since_first = until[until.index(True) :]
    return CleanRuns(clean, sum(since_first), len(since_first))
