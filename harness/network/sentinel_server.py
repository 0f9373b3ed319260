"""Redis Sentinel's answers: which server it takes for the primary, and what it knows of the others."""

from __future__ import annotations

from dataclasses import dataclass

from harness.network import redis_server
from harness.network.topology import Address
from workloads.settings import SENTINEL_SERVICE

SERVERS = 3  # a primary and two replicas
SENTINELS = 3
PROBE = b"SENTINEL MYID\r\n"
ANSWER = b"$40\r\n"  # the length of an id; a server of Redis knows no such command
_ANNOUNCED = ".proxy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What a sentinel knows of the servers that it watches."""

    primary: str  # the name of the server that it takes for the primary
    flags: str  # "master", and such as "s_down" if it does not answer the sentinel
    epoch: int  # one more with each failover
    replicas: int
    other_sentinels: int

    @property
    def is_complete(self) -> bool:
        """Does the primary answer, and does it know of all others?"""
        others = (self.replicas, self.other_sentinels)
        return self.flags == "master" and others == (SERVERS - 1, SENTINELS - 1)

    def __str__(self) -> str:
        return f"{self.primary} ({self.flags}, epoch {self.epoch}, {self.replicas} replicas)"


def announced(server: str) -> str:
    """Return the host by which a server of Redis is known to sentinels, replicas and clients."""
    return f"{server}{_ANNOUNCED}"


def watched(address: Address) -> Watched:
    """Return what a sentinel knows; OSError if it does not answer, or knows no primary."""
    seen = redis_server.fields(address, f"SENTINEL MASTER {SENTINEL_SERVICE}")
    return Watched(
        primary=seen["ip"].removesuffix(_ANNOUNCED),
        flags=seen["flags"],
        epoch=int(seen["config-epoch"]),
        replicas=int(seen["num-slaves"]),
        other_sentinels=int(seen["num-other-sentinels"]),
    )


def is_usable(address: Address) -> bool:
    """Does it know the primary, and all others?"""
    try:
        return watched(address).is_complete
    except OSError:
        return False
