"""Which user of this machine holds the other end of a connection on loopback.

The kernel is asked about that one connection (sock_diag(7)). If it has none, or cannot be asked, all
connections of the machine are read: those in `/proc/net/tcp`, and those of IPv6 sockets, also to
IPv4-mapped addresses, in `/proc/net/tcp6`. Reading them takes some 10 ms.
"""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

_ESTABLISHED = 1  # TCP_ESTABLISHED of the kernel's net/tcp_states.h
_WORD = 4  # bytes
_IP4 = Path("/proc/net/tcp")
_IP6 = Path("/proc/net/tcp6")

_SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST = 1  # NLM_F_REQUEST
_HEADER = struct.Struct("=IHHII")  # nlmsghdr
_QUESTION = struct.Struct("=4BI2s2s16s16sI8s")  # inet_diag_req_v2: 2s and 16s in network order
_ANSWER = struct.Struct("=4B48s5I")  # inet_diag_msg
_ANY_COOKIE = b"\xff" * 8  # INET_DIAG_NOCOOKIE
_MOST = 1 << 12  # bytes of an answer

Address = tuple[str, int]


def user_of(peer: Address, local: Address) -> int | None:
    """Return the user who has connected from `peer` to `local`, IPv4 addresses of this machine.

    None if there is no such connection, or no longer: once its socket is closed, the kernel shows root as
    its user instead of the one who had it.
    """
    user = asked(peer, local)
    return listed(peer, local) if user is None else user


def asked(peer: Address, local: Address) -> int | None:
    """Ask the kernel; None also if it cannot be asked."""
    ends = [(socket.inet_aton(host), port.to_bytes(2, "big")) for host, port in (peer, local)]
    (source, source_port), (target, target_port) = ends
    question = _QUESTION.pack(
        *(socket.AF_INET, socket.IPPROTO_TCP, 0, 0),
        1 << _ESTABLISHED,
        *(source_port, target_port, source, target),
        *(0, _ANY_COOKIE),
    )
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 0, 0) + question)
            answer = kernel.recv(_MOST)
    except OSError:
        return None
    if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:  # an error: it has none, or does not know the question
        return None
    _, state, _, _, _, *_, user, _ = _ANSWER.unpack_from(answer, _HEADER.size)
    return user if state == _ESTABLISHED else None


def listed(peer: Address, local: Address) -> int | None:
    """Look for it among all connections."""
    for table, prefix in ((_IP4, ""), (_IP6, "::ffff:")):
        ends = [_as_listed(f"{prefix}{host}", port) for host, port in (peer, local)]
        with suppress(FileNotFoundError):  # a kernel without IPv6
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                _, *found, state, _, _, _, user = line.split()[:8]
                if found == ends and int(state, 16) == _ESTABLISHED:
                    return int(user)
    return None


def _as_listed(host: str, port: int) -> str:
    """Return an address as the kernel writes it: in words of the machine's byte order."""
    packed = (IPv6Address(host) if ":" in host else IPv4Address(host)).packed
    words = (packed[start : start + _WORD] for start in range(0, len(packed), _WORD))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{port:04X}"
