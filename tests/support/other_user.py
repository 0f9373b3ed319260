"""What another user of the machine can say to a port."""

from __future__ import annotations

import subprocess

from harness.network.topology import Address

ATTACK = 'exec 3<>/dev/tcp/$0/$1 && printf "$2" >&3 && timeout 5 cat <&3'


def ask_as(user: int, at: Address, request: bytes) -> bytes:
    """The answer to the request of a process of that user, until the connection ends or 5 s have passed."""
    written = "".join(f"\\x{byte:02x}" for byte in request)
    command = ["bash", "-c", ATTACK, at.host, str(at.port), written]
    return subprocess.run(command, user=user, capture_output=True, timeout=60, check=False).stdout
