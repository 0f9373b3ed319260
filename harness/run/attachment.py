"""What a run may leave on servers that already run."""

from __future__ import annotations

from pathlib import Path

from harness.run import deployment
from harness.run.removal import Belongings
from harness.spec import Target
from workloads import locks, storages


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
        found.append(Belongings(servers=of_lock, settings=lock))
    if deployment.storage_side(target) is target.lock:
        of_storage, at_storage = of_lock, at_lock
    if of_storage and target.storage.kind in storages.REMOVABLE:
        storage = deployment.storage_settings(target, at_storage, folder, deployment.SETTING_UP, folder.name)
        found.append(Belongings(servers=of_storage, settings=storage))
    return tuple(found)
