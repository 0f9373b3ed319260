"""What the command's exit code says, of one run and of several."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checkers.document import VerdictDocument
    from harness.core.errors import FencepostError


class ExitCode(enum.IntEnum):
    """How a command ended."""

    AS_EXPECTED = 0
    VIOLATION = 1  # or an expected one was not found
    UNKNOWN = 2  # not exercised, or undecided
    INFRASTRUCTURE = 3
    CONFIGURATION = 4  # also a wrong use of the command line
    NOTHING_SELECTED = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # whoever read our output has gone


RANKING = (
    ExitCode.VIOLATION,
    ExitCode.INTERRUPTED,
    ExitCode.CONFIGURATION,
    ExitCode.INFRASTRUCTURE,
    ExitCode.UNKNOWN,
    ExitCode.AS_EXPECTED,
)
"""Of several runs, the first that occurs is the command's: nothing hides a violation."""


def of_verdict(document: VerdictDocument, *, interrupted: bool = False) -> ExitCode:
    """Say how a judged run ended.

    An interrupted run that breaks its target's promise is a violation; one that
    did not get as far as what it had to find is only interrupted. Its recorded history
    is never a pass, whenever it is judged again: it is unknown what the rest would have shown.
    """
    if document.as_expected:
        code = ExitCode.UNKNOWN if document.interrupted else ExitCode.AS_EXPECTED
    elif document.verdict == "unknown":
        code = ExitCode.UNKNOWN
    else:
        code = ExitCode.VIOLATION
    if interrupted and not (code is ExitCode.VIOLATION and document.verdict == "invalid"):
        return ExitCode.INTERRUPTED
    return code


def of_error(error: FencepostError | KeyboardInterrupt) -> ExitCode:
    """Say what ended a command: the user, the user's settings, or the servers."""
    from harness.core.errors import ConfigurationError, HistoryError, ModelError

    match error:
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case ConfigurationError() | HistoryError() | ModelError():
            return ExitCode.CONFIGURATION
        case _:
            return ExitCode.INFRASTRUCTURE


def of_several(codes: Iterable[ExitCode]) -> ExitCode:
    """Give the worst of several; none at all means that nothing was selected."""
    found = set(codes)
    return next((code for code in RANKING if code in found), ExitCode.NOTHING_SELECTED)
