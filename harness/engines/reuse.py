"""Reuse of servers: the next run with the same servers gets them if they are proven clean.

Clean means: the run before ended well, so its faults were observed healed and its clients
have ended; every proxy is new, so no old connection is left; no server has ended, and each
passes the check of a start. Data stays, so each run puts its own name into all names that it
makes (`settings.names`). If any of this cannot be proven, the run gets new servers.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness.core.errors import InfrastructureError, ServerNotReadyError
from harness.engines.engine import Cluster, Engine, Notify, Refusal
from harness.engines.readiness import is_ready, wait_until_usable
from harness.files import dated_folders, logs
from harness.files.logs import not_ready
from harness.network.topology import Topology, edges
from harness.processes.deferred_interrupts import deferred_interrupts

MOST_RUNS = 20
"""The most runs on the same servers: their data stays on disk, with some servers in memory."""

PATIENCE = 5.0  # s; usable servers answer at once
LOGS = "logs"


def reusable(topology: Topology) -> bool:
    """Can servers be reused after a run? Not if a fault or their settings affect their own state."""
    return bool(topology.servers) and not (
        topology.killed
        or topology.clocks
        or topology.throttled
        or topology.split
        or any(spec.follows or not spec.durable for spec in topology.servers)
    )


def same_servers(topology: Topology) -> Topology:
    """Return what decides which servers and proxies start: runs with equal results can share them."""
    return replace(topology, partitions=False)


@dataclass(slots=True)
class _Kept:
    topology: Topology
    cluster: Cluster
    stop: ExitStack
    runs: int = 0

    def serves(self, topology: Topology) -> bool:
        return same_servers(self.topology) == same_servers(topology) and not (
            topology.partitions and self.cluster.toxiproxy is None
        )

    def prove_clean(self) -> None:
        """Replace every proxy, and check every server; InfrastructureError if one fails."""
        if self.cluster.toxiproxy is not None:
            self.cluster.toxiproxy.renew(edges(self.topology))
        deadline = time.monotonic() + PATIENCE
        for server in self.cluster.servers:
            wait_until_usable(
                partial(is_ready, server.system, server.address),
                self.cluster.check,
                partial(self._failed, server.name),
                deadline=deadline,
                why="is no longer usable",
            )
        self.cluster.check()

    def _failed(self, server: str, seen: str) -> ServerNotReadyError:
        return not_ready(server, seen, self.cluster.logs()[server])


class ReusingEngine:
    """An engine that keeps the servers of a run for the next one, until `close`; one run at a time."""

    def __init__(self, engine: Engine, home: Path) -> None:
        """Give each set of servers a folder in `home`, deleted with the servers."""
        self._engine = engine
        self._home = home
        self._kept: _Kept | None = None

    @property
    def name(self) -> str:
        """Return "docker" or "local"."""
        return self._engine.name

    def refusal(self, topology: Topology) -> Refusal | None:
        """Return the error of a run of this topology, with the remedy; None if it can run."""
        return self._engine.refusal(topology)

    @contextmanager
    def start(self, topology: Topology, run_id: str, folder: Path, notify: Notify) -> Iterator[Cluster]:
        """Lend the kept servers, or new ones, and keep them for the next run if possible."""
        if not reusable(topology):
            self.close()
            with self._engine.start(topology, run_id, folder, notify) as own:
                yield own
            return
        kept = self._proven(topology, notify) or self._started(topology, folder, notify)
        try:
            yield kept.cluster.lent(kept.runs)
            kept.runs += 1
        except BaseException:
            self.close()
            raise
        if kept.runs >= MOST_RUNS:
            self.close()

    def close(self) -> None:
        """Stop the kept servers."""
        with deferred_interrupts():
            kept, self._kept = self._kept, None
            if kept is not None:
                kept.stop.close()

    def _proven(self, topology: Topology, notify: Notify) -> _Kept | None:
        """Return the kept servers if they fit the topology and are proven clean; otherwise stop them."""
        kept = self._kept
        if kept is None:
            return None
        try:
            if kept.serves(topology):
                kept.prove_clean()
                return kept
        except InfrastructureError as error:
            notify(f"the servers of the run before are replaced: {error.lines[0]}")
        self.close()
        return None

    def _started(self, topology: Topology, folder: Path, notify: Notify) -> _Kept:
        """Start new servers; if that fails, the run's folder gets their logs."""
        with ExitStack() as stack:
            home = dated_folders.create(self._home, LOGS)
            stack.callback(shutil.rmtree, home, ignore_errors=True)
            stack.enter_context(logs.limited(home / LOGS))
            try:
                cluster = stack.enter_context(self._engine.start(topology, home.name, home, notify))
            except BaseException:
                shutil.copytree(home / LOGS, folder / LOGS, dirs_exist_ok=True)
                raise
            self._kept = _Kept(topology, cluster, stack.pop_all())
        return self._kept
