"""The servers' logs in a run's folder, however the run ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from harness.core.errors import InfrastructureError
from harness.engines.engine import Cluster
from harness.files.logs import LAST_LOG_LINES, last_log_lines
from harness.files.run_folder import LOGS, RunFolder

WITH_EARLIER_RUNS = "[earlier runs on this server are in this log, too]"


def keep_logs(folder: RunFolder, cluster: Cluster, earlier: Mapping[str, str]) -> Mapping[str, str]:
    """Save the servers' logs without what earlier runs have logged, and return them by server."""
    logs = {name: _since(earlier.get(name, ""), text) for name, text in cluster.logs().items()}
    for name, text in logs.items():
        folder.write_text(f"{LOGS}/{name}.log", text)
    return logs


@contextmanager
def logs_kept_on_failure(folder: RunFolder, cluster: Cluster, earlier: Mapping[str, str]) -> Iterator[None]:
    """Save the servers' logs if the block fails, before the servers are removed.

    The message of an InfrastructureError that names servers, or their addresses, gets the end of their logs.
    """
    try:
        yield
    except BaseException as error:
        with suppress(InfrastructureError, OSError):  # Docker or the disk may be why the block failed
            logs = keep_logs(folder, cluster, earlier)
            if isinstance(error, InfrastructureError) and LAST_LOG_LINES not in str(error):
                for name in _named(error, cluster, logs):
                    error.args += (f"{LAST_LOG_LINES} of {name}:", *last_log_lines(logs[name]))
        raise


def _named(error: InfrastructureError, cluster: Cluster, logs: Iterable[str]) -> list[str]:
    """Return the servers that an error names, or whose addresses it names."""
    addresses = {server.name: (server.address, server.patroni) for server in cluster.servers}
    names = {name: (name, *filter(None, addresses.get(name, ()))) for name in logs}
    return [name for name, words in names.items() if any(_has(str(error), str(word)) for word in words)]


def _has(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text, re.IGNORECASE) is not None


def _since(earlier: str, text: str) -> str:
    """Return the rest of a log; all of it, with a note, if its beginning has been cut."""
    return text.removeprefix(earlier) if text.startswith(earlier) else f"{WITH_EARLIER_RUNS}\n{text}"
