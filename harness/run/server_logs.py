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
    logs = {}
    for name, text in cluster.logs().items():
        before = earlier.get(name, "")
        is_whole = text.startswith(before)  # otherwise its beginning has been cut
        logs[name] = text.removeprefix(before) if is_whole else f"{WITH_EARLIER_RUNS}\n{text}"
        folder.write_text(f"{LOGS}/{name}.log", logs[name])
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
    patterns = {name: "|".join(re.escape(str(word)) for word in words) for name, words in names.items()}
    return [
        name
        for name, words in patterns.items()
        if re.search(rf"(?<![\w-])({words})(?![\w-])", str(error), re.IGNORECASE)
    ]
