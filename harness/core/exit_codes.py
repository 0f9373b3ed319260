"""The exit code of a command, for one run and for several."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checkers.vocabulary.document import VerdictDocument
    from harness.core.errors import FencepostError


class ExitCode(enum.IntEnum):
    """The result of a command."""

    AS_EXPECTED = 0
    VIOLATION = 1  # a violation was found, or an expected one was not
    UNKNOWN = 2  # not tested, or undecided
    INFRASTRUCTURE = 3
    CONFIGURATION = 4  # bad configuration or usage
    NOTHING_SELECTED = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # the reader of our output has exited


RANKING = (
    ExitCode.VIOLATION,
    ExitCode.INTERRUPTED,
    ExitCode.CONFIGURATION,
    ExitCode.INFRASTRUCTURE,
    ExitCode.UNKNOWN,
    ExitCode.AS_EXPECTED,
)
"""With several runs, the first code that occurs is the command's: nothing hides a violation."""


def of_verdict(document: VerdictDocument, *, interrupted: bool = False) -> ExitCode:
    """Return the exit code of a judged run.

    An interrupted run with an unexpected anomaly is a violation; one that had not yet
    found an expected anomaly is only interrupted. Judged again, an interrupted run that is valid
    so far is unknown, because the rest might have shown a violation.
    """
    if document.interrupted and document.verdict == "valid":
        code = ExitCode.UNKNOWN
    elif document.as_expected:
        code = ExitCode.AS_EXPECTED
    elif document.verdict == "unknown":
        code = ExitCode.UNKNOWN
    else:
        code = ExitCode.VIOLATION
    if interrupted and not (code is ExitCode.VIOLATION and document.verdict == "invalid"):
        return ExitCode.INTERRUPTED
    return code


def of_error(error: FencepostError | KeyboardInterrupt) -> ExitCode:
    """Return the exit code of a command that ended with an error."""
    from harness.core.errors import ConfigurationError, HistoryError, ModelError

    match error:
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case ConfigurationError() | HistoryError() | ModelError():
            return ExitCode.CONFIGURATION
        case _:
            return ExitCode.INFRASTRUCTURE


def of_several(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the most severe of several; without any, nothing was selected."""
    found = set(codes)
    return next((code for code in RANKING if code in found), ExitCode.NOTHING_SELECTED)
