"""Servers before a run: the storage is set up, and servers that already run are tried.

Each request that a run needs is made once, and nothing of that stays.

Without it, a right that is missing would show during the run, as a write that took effect but was not
logged, or after it, when what it left cannot be removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from checkers.history.records import Outcome
from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.engines.attached import about_attached
from harness.engines.engine import Cluster
from harness.engines.readiness import too_old
from harness.run import deployment
from harness.run.refusals import as_error
from harness.spec import Target
from harness.spec.attached import running_at
from harness.spec.fields import PROGRAM
from workloads import locks, storages
from workloads.client import Answer, Lock, NotApplied, Unknown, outcome_of
from workloads.custom_class import FailedClassError
from workloads.settings import LockSettings, StorageSettings

TRIAL = "trial"  # the resource, the owner and the value
TOKEN = 1
PATIENCE = 10.0  # s


class _Trial:
    """Records nothing of a trial but its last error: implements `workloads.client.Session`."""

    error: str = ""

    def call(
        self,
        f: str,  # noqa: ARG002 - as in the protocol
        resource: str,  # noqa: ARG002 - as above
        action: Callable[[], dict[str, Any]],
        known: Mapping[str, Any] = MappingProxyType({}),  # noqa: ARG002 - as above
        **_fields: Any,
    ) -> Answer:
        try:
            return Answer(Outcome.OK, action())
        except Exception as error:  # noqa: BLE001 - any error of a client is an outcome
            self.error = str(error)
            return Answer(outcome_of(error), {"error": self.error})

    def granted(self, resource: str, owner: str) -> None:
        """Go on: nothing stops a trial."""


def prove_usable(target: Target, cluster: Cluster, folder: Path) -> None:
    """Use servers that already run as clients will, and see that none is too old.

    Raises ConfigurationError if they refuse it, ServerNotReadyError if they do not answer.
    """
    if running_at(target.lock) and target.lock.kind in locks.REMOVABLE:
        _try_lock(deployment.lock_of(target, cluster, folder), running_at(target.lock))
    if running_at(target.storage) and target.storage.kind in storages.WITH_TRIAL:
        _try_storage(deployment.storage_of(target, cluster, folder), running_at(target.storage))
    attached = {server.name for server in deployment.attached_servers(target) if server.system}
    for server in cluster.servers:
        if server.name in attached and (why := too_old(server.system, about_attached(server)["version"])):
            raise ConfigurationError(f"{server.name} {why}")


def _try_lock(settings: LockSettings, servers: Sequence[str]) -> None:
    """Lock and release on each server by itself: most of them could hide one that refuses."""
    with _explained(f"lock.servers: {', '.join(servers)} cannot be set up", "lock"):
        locks.set_up(settings)
    trial = _Trial()
    for at, endpoint in zip(servers, settings.endpoints, strict=True):
        single = replace(settings, endpoints=(endpoint,))
        with (
            _explained(f"lock.servers: {at} grants no lock", "lock", lambda: trial.error),
            closing(locks.connect(single, trial)) as lock,
        ):
            _lock_and_release(lock, trial)
    with _explained(f"lock.servers: {', '.join(servers)}: what was locked cannot be removed", "lock"):
        locks.remove(settings)


def _lock_and_release(lock: Lock, trial: _Trial) -> None:
    """Lock and release once; again if there was no answer, because the machine may only be slow."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            lock.acquire(TRIAL, TRIAL)
            lock.release(TRIAL, TRIAL)
        except Unknown as error:
            is_refused = isinstance(as_error(error, f"{error} {trial.error}", "lock"), ConfigurationError)
            if is_refused or time.monotonic() > deadline:
                raise
            lock.reconnect()
            with suppress(NotApplied, Unknown):
                lock.revoke(TRIAL, TRIAL)
        else:
            return


def _try_storage(settings: StorageSettings, servers: Sequence[str]) -> None:
    """Write, read, and read the log; the resources of the run do not exist yet."""
    kind = storages.load_kind(settings.kind)
    with _explained(f"storage.servers: {', '.join(servers)} cannot be used", "storage"):
        kind.set_up(settings, (TRIAL,))
        storage = kind.connect(settings)
        storage.write(TRIAL, TOKEN, TRIAL, lambda: None)
        storage.read(TRIAL)
        storage.reconnect()
        next(iter(kind.committed(settings) or ()), None)  # the one that was written
        storages.remove(settings)


@contextmanager
def _explained(what: str, side: str, more: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Raise the error of a client as one that says what failed, why, and what to do."""
    try:
        yield
    except (NotApplied, Unknown) as error:
        why = " ".join(f"{error} {f'({more()})' if more() else ''}".split())
        raise as_error(error, f"{what}: {why}", side) from error


def set_up_lock(target: Target, cluster: Cluster, folder: Path) -> None:
    """Make what the clients of the lock service need. A program's lock does it itself.

    Raises ServerNotReadyError if that fails; ConfigurationError if servers that already ran refuse it.
    """
    if "lock" in target.program_sides:
        return
    servers = ", ".join(running_at(target.lock))
    try:
        locks.set_up(deployment.lock_of(target, cluster, folder))
    except (NotApplied, Unknown) as error:
        why = f"could not be set up: {' '.join(str(error).split())}"
        if servers:
            raise as_error(error, f"lock.servers: {servers} {why}", "lock") from error
        raise ServerNotReadyError(f"{target.lock.kind} {why}") from error


def set_up(storage: StorageSettings, resources: Sequence[str], attached: Sequence[str] = ()) -> None:
    """Create what the storage needs. A program's does it itself.

    Raises ServerNotReadyError if that fails; ConfigurationError if servers that already ran, at the
    addresses `attached`, refuse it.
    """
    if storage.kind == PROGRAM:
        return
    try:
        storages.load_kind(storage.kind).set_up(storage, resources)
    except FailedClassError as error:
        raise ServerNotReadyError(f"storage.kind: {error}") from error
    except (NotApplied, Unknown) as error:
        why = f"could not be set up: {' '.join(str(error).split())}"
        if attached:
            raise as_error(error, f"storage.servers: {', '.join(attached)} {why}", "storage") from error
        where = " at ".join([storage.kind, *storage.endpoints[:1]])
        raise ServerNotReadyError(f"{where} {why}") from error
