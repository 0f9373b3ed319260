"""The error of a failed server: one sentence, then its last log lines."""

from __future__ import annotations

from harness.core.errors import ServerNotReadyError
from harness.files.log_tail import end_of

LAST_LINES = 15
LAST_LOG_LINES = "last log lines"
"""In the message of each error that shows them."""


def not_ready(server: str, seen: str, log: str) -> ServerNotReadyError:
    """Return the error, such as "etcd-1 ended with status 1", from an observation and the whole log."""
    return ServerNotReadyError(f"{server} {seen}", *last_log_lines(log), heading=f"its {LAST_LOG_LINES}:")


def last_log_lines(log: str) -> tuple[str, ...]:
    """Return the end of a log, quoted."""
    return end_of(log, LAST_LINES) or ("  (none)",)
