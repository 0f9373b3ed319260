"""Servers that already run: what a run may leave there, and whether its clients can use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

from checkers.history.reader import Outcome
from harness.core.errors import ConfigurationError
from harness.engines.attached import about_attached
from harness.engines.engine import Cluster
from harness.engines.readiness import too_old
from harness.run import deployment
from harness.run.refusals import as_error
from harness.run.removal import Belongings
from harness.target import Target
from harness.target.attached import running_at
from workloads import locks, storages
from workloads.client import Answer, NotApplied, Unknown, outcome_of

TRIAL = "trial"  # the resource that is locked and released before a run


class _Trial:
    """Records nothing of a trial but its last error: implements `workloads.client.Session`."""

    def __init__(self) -> None:
        self.error = ""

    def call(
        self,
        f: str,  # noqa: ARG002 - as in the protocol
        resource: str,  # noqa: ARG002
        action: Callable[[], dict[str, Any]],
        known: Mapping[str, Any] = MappingProxyType({}),  # noqa: ARG002
        **_fields: Any,
    ) -> Answer:
        """Run `action`."""
        try:
            return Answer(Outcome.OK, action())
        except Exception as error:  # noqa: BLE001 - any error of a client is an outcome
            self.error = str(error)
            return Answer(outcome_of(error), {"error": self.error})

    def granted(self, resource: str, owner: str) -> None:
        """Go on: nothing stops a trial."""


def belongings(target: Target, folder: Path) -> tuple[Belongings, ...]:
    """Return what a run may leave on each side's servers that already run."""
    of_lock, of_storage = (
        tuple(server for server in deployment.attached_servers(target) if server.key.startswith(f"{side}."))
        for side in ("lock", "storage")
    )
    at_lock, at_storage = ([server.address for server in each] for each in (of_lock, of_storage))
    found = []
    if of_lock and target.lock.kind in locks.REMOVABLE:
        lock = deployment.lock_settings(target, at_lock, folder, 0, deployment.SETTING_UP, folder.name)
        found.append(Belongings(servers=of_lock, lock=lock))
    if deployment.storage_side(target) is target.lock:
        of_storage, at_storage = of_lock, at_lock
    if of_storage and target.storage.kind in storages.REMOVABLE:
        storage = deployment.storage_settings(target, at_storage, folder, deployment.SETTING_UP, folder.name)
        found.append(Belongings(servers=of_storage, storage=storage))
    return tuple(found)


def prove_usable(target: Target, cluster: Cluster, folder: Path) -> None:
    """Lock and release once on servers that already run, and see that none is too old.

    Raises ConfigurationError if they refuse it, ServerNotReadyError if they do not answer.
    """
    if running_at(target.lock) and target.lock.kind in locks.REMOVABLE:
        _try_lock(target, cluster, folder)
    attached = {server.name for server in deployment.attached_servers(target) if server.system}
    for server in cluster.servers:
        if server.name in attached and (why := too_old(server.system, about_attached(server)["version"])):
            raise ConfigurationError(f"{server.name} {why}")


def _try_lock(target: Target, cluster: Cluster, folder: Path) -> None:
    trial = _Trial()
    settings = deployment.lock_of(target, cluster, folder)
    where = f"lock.servers: {', '.join(running_at(target.lock))}"
    try:
        with closing(locks.connect(settings, trial)) as lock:
            lock.acquire(TRIAL, TRIAL)
            lock.release(TRIAL, TRIAL)
    except (NotApplied, Unknown) as error:
        why = " ".join(f"{error} {f'({trial.error})' if trial.error else ''}".split())
        raise as_error(error, f"{where} grant no lock: {why}", "lock") from error
