"""Which user of this machine holds the other end of a connection on loopback.

The kernel lists all connections of the machine in `/proc/net/tcp`, and those of IPv6 sockets, also to
IPv4-mapped addresses, in `/proc/net/tcp6`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

_ESTABLISHED = "01"  # TCP_ESTABLISHED of the kernel's net/tcp_states.h
_WORD = 4  # bytes
_IP4 = Path("/proc/net/tcp")
_IP6 = Path("/proc/net/tcp6")


def user_of(peer: tuple[str, int], local: tuple[str, int]) -> int | None:
    """Return the user who has connected from `peer` to `local`, IPv4 addresses of this machine.

    None if there is no such connection, or no longer: once its socket is closed, the kernel shows root as
    its user instead of the one who had it.
    """
    for table, prefix in ((_IP4, ""), (_IP6, "::ffff:")):
        ends = [_as_listed(f"{prefix}{host}", port) for host, port in (peer, local)]
        with suppress(FileNotFoundError):  # a kernel without IPv6
            for line in table.read_text(encoding="ascii").splitlines():
                _, *listed, state, _, _, _, user = line.split()[:8]
                if listed == ends and state == _ESTABLISHED:
                    return int(user)
    return None


def _as_listed(host: str, port: int) -> str:
    """Return an address as the kernel writes it: in words of the machine's byte order."""
    packed = (IPv6Address(host) if ":" in host else IPv4Address(host)).packed
    words = (packed[start : start + _WORD] for start in range(0, len(packed), _WORD))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{port:04X}"
