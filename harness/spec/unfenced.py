"""The unfenced copy of a target: the same servers, clients and faults; the storage accepts every write.

Such a run must find stale writes. It shows that the fenced run was a test, and what the fence prevents.
"""

from __future__ import annotations

import json

from harness.core.errors import ConfigurationError
from harness.spec.models import Target

STALE_WRITE = "stale-write"
SUFFIX = "-unfenced"


def unfenced_overrides(target: Target) -> tuple[str, ...]:
    """Return the changes, as for `--set`, that make the unfenced copy; ConfigurationError if it is one."""
    if not target.fenced:
        raise ConfigurationError(
            f'{target.name}: storage.fencing is "none" already: '
            "--both takes the fenced target, and runs its unfenced copy too"
        )
    with_it = dict.fromkeys((*target.expected, *target.may))
    if target.workload.kind == "append":
        with_it["lost-update"] = None
    may = [name for name in with_it if name != STALE_WRITE]
    changes = [
        f"name={target.name}{SUFFIX}",
        f"expect={json.dumps([STALE_WRITE])}",
        f"may={json.dumps(may)}",
        "storage.fencing=none",
    ]
    if target.storage.fence_on_acquire:
        changes.append("storage.fence_on_acquire=false")
    if target.require.get("stale_writes_rejected"):
        changes.append("require.stale_writes_rejected=0")
    return tuple(changes)
