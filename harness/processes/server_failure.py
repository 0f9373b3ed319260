"""The error of a failed server: one sentence, then its last log lines."""

from harness.core.errors import ServerNotReadyError

LAST_LINES = 15


def not_ready(server: str, seen: str, log: str) -> ServerNotReadyError:
    """Return the error, such as "etcd-1 ended with status 1", from an observation and the whole log."""
    lines = "\n".join(f"  {line}" for line in log.rstrip().splitlines()[-LAST_LINES:])
    return ServerNotReadyError(f"{server} {seen}; its last log lines:\n{lines or '  (none)'}")
