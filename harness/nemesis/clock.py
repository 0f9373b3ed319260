"""Clock: the wall clock of servers jumps while they run, as by a wrong step of whatever sets it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from harness.duration import NS, format_duration
from harness.engines import Address, Cluster, redis_server
from harness.errors import FaultNotInstalledError
from harness.nemesis.fault import Fault

TOLERANCE = NS["s"]  # ns; between a server's clock and ours, which is asked a little earlier or later


@contextmanager
def clock_jump(cluster: Cluster, target: str, servers: Sequence[str], jump: int) -> Iterator[Fault]:
    """Have the clocks of Redis servers ahead by `jump` ns until the block ends.

    In force means: each tells a time that is so far ahead of ours. Healed means: each tells ours.
    Raises FaultNotInstalledError where that is not seen.
    """
    addresses = {server.name: server.address for server in cluster.servers if server.name in servers}
    _prove("clock", target, addresses, 0)
    try:
        for name in addresses:
            cluster.move_clock(name, jump)
        fault = Fault("clock", target, evidence=_prove("clock", target, addresses, jump))
        yield fault
    finally:
        for name in addresses:
            cluster.move_clock(name, 0)
    fault.healed = _prove("end of the clock's jump", target, addresses, 0)


def _prove(what: str, target: str, addresses: dict[str, Address], expected: int) -> str:
    """See every clock as far ahead of ours as it is to be, and tell it."""
    seen = {name: redis_server.clock(address) - time.time_ns() for name, address in addresses.items()}
    told = ", ".join(f"{name} {_ahead(ns)}" for name, ns in seen.items())
    if any(abs(ns - expected) > TOLERANCE for ns in seen.values()):
        raise FaultNotInstalledError(what, target, f"by TIME, {told}")
    return f"by TIME, {told}"


def _ahead(ns: int) -> str:
    return f"is {format_duration(abs(ns))} {'ahead of' if ns > 0 else 'behind'} this machine's clock"
