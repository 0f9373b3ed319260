"""How urgent a status or an outcome is: its tone decides the symbol and the color."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.campaign.status import RunOutcome, Status
from harness.core.exit_codes import ExitCode

GOOD, BAD, UNSURE, NEUTRAL = "good", "bad", "unsure", "neutral"

OF_STATUS: Mapping[Status, str] = {
    Status.NEW: BAD,
    Status.STILL_FAILING: BAD,
    Status.REGRESSED: BAD,
    Status.FLAKY: BAD,
    Status.NOT_SEEN: UNSURE,
    Status.FIXED: GOOD,
    Status.PASSING: GOOD,
    Status.UNKNOWN: UNSURE,
    Status.NOT_JUDGED: UNSURE,
    Status.INFRASTRUCTURE: UNSURE,
    Status.QUARANTINED: NEUTRAL,
    Status.NOT_RUN: NEUTRAL,
}

OF_EXIT_CODE: Mapping[int, tuple[str, str]] = {
    ExitCode.AS_EXPECTED: (GOOD, "As expected"),
    ExitCode.VIOLATION: (BAD, "Violation"),
    ExitCode.UNKNOWN: (UNSURE, "Unknown"),
    ExitCode.INFRASTRUCTURE: (UNSURE, "Infrastructure failure"),
    ExitCode.CONFIGURATION: (UNSURE, "Could not be run"),
}
"""With the label of a night; with every other exit code, nothing was run."""

BY_URGENCY = (
    RunOutcome.FAILED,
    RunOutcome.INFRASTRUCTURE,
    RunOutcome.NOT_JUDGED,
    RunOutcome.UNKNOWN,
    RunOutcome.QUARANTINED,
    RunOutcome.PASSED,
)


def worst(outcomes: Iterable[RunOutcome]) -> RunOutcome:
    """Return the most urgent of some outcomes."""
    return min(outcomes, key=BY_URGENCY.index)
