"""How the members of a cluster speak to each other, and everything that can be probed."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from harness.network.systems import SYSTEMS, System


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """How the members of a cluster speak to each other."""

    ports: tuple[int, ...]  # inside their containers; the last one answers the probe
    probe: bytes
    answers: tuple[bytes, ...]
    hangs_up: float = math.inf  # s; after so long, it closes a connection on which nothing came


MEMBERS: dict[str, Members] = {
    "etcd": Members(ports=(2380,), probe=SYSTEMS["etcd"].probe, answers=SYSTEMS["etcd"].answers),
    "zookeeper": Members(
        ports=(2888, 3888),  # of the leader, and for elections
        probe=struct.pack("!q", -1),  # no version of the election's protocol: it closes the connection
        answers=(b"",),
        hangs_up=3.0,
    ),
}
"""The systems whose clusters can be split, as far as their members have ports of their own."""


def members_of(system: str) -> str:
    """Return the name under which `PROBED` has the members' ports of a system."""
    return f"{system} members"


def keeps_silence(system: str) -> float:
    """Return how long (s) a connection stays open on which nothing came, also on a busy machine.

    After that, a system whose answer is to hang up seems to answer.
    """
    known = PROBED[system]
    return 0.8 * known.hangs_up if isinstance(known, Members) else math.inf


PROBED: Mapping[str, System | Members] = {
    **SYSTEMS,
    **{members_of(system): members for system, members in MEMBERS.items()},
}
"""What can be probed, by name."""
