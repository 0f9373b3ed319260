"""Which runs can have servers one after another, so that a campaign need not start them for each."""

from __future__ import annotations

from harness.engines.reuse import reusable, same_servers
from harness.network.topology import ServerSpec
from harness.run import deployment
from harness.spec import Target
from workloads.locks import LOCKS
from workloads.storages import STORAGES


def servers_to_reuse(target: Target, *, by_default: bool) -> str:
    """Name the servers that a target's runs can share: equal for the same ones; "" for servers of their own.

    `by_default` counts where the target does not say `reuse`. Classes and programs of the user
    always get their own: only shipped clients are known to keep the names of runs apart. So do
    targets that vary, because each run may need others, and those whose servers already run.
    """
    wanted = by_default if target.reuse is None else target.reuse
    is_shipped = not target.client and target.lock.kind in LOCKS and target.storage.kind in STORAGES
    if not wanted or target.vary or not is_shipped or deployment.attached_servers(target):
        return ""
    topology = same_servers(deployment.topology(target, target.faults))
    if not reusable(topology):
        return ""
    return f"{topology.clients} clients: {', '.join(map(_described, topology.servers))}"


def _described(spec: ServerSpec) -> str:
    side = f" ({spec.cluster})" if spec.cluster else ""
    chosen = spec.image or spec.release
    return f"{spec.name}{side}" + (f" = {chosen}" if chosen else "")
