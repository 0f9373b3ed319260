"""Is a server usable? Fail fast on servers that can never become ready.

Waiting does not help in three cases: another system answers, it requires a login that
clients do not have, or it is older than the clients support.
"""

from __future__ import annotations

import re
import socket
import time

from harness.network.systems import MOST, SYSTEMS, TIMEOUT, System, Unfit
from harness.network.topology import Address

LONGEST_ANSWER = 80  # characters shown in a message


def is_ready(name: str, address: Address) -> bool:
    """Ask a server of that system once; Unfit if asking again would not help."""
    system = SYSTEMS[name]
    answer = _answer(system, address)
    if not answer:
        _expect_silence(name, address)
        return False
    locked_out = bool(system.locked) and answer.startswith(system.locked) and not address.password
    if locked_out or not (answer.startswith(system.answers) and system.speaks in answer):
        raise Unfit(_is_another(name, answer))
    if not system.is_usable(address):
        return False
    _expect_new_enough(name, system, address)
    return True


def _expect_silence(name: str, address: Address) -> None:
    """Raise Unfit if it does not answer its own protocol, but answers another.

    A server that has just started answers its own by then, too.
    """
    for other in SYSTEMS.values():
        answer = _answer(other, address)
        if answer and not _answer(SYSTEMS[name], address):
            raise Unfit(_is_another(name, answer))


def _is_another(name: str, answer: bytes) -> str:
    shown = answer.decode(errors="replace").strip().replace("\r\n", " ")[:LONGEST_ANSWER]
    return f'cannot be used as {name}: it answers "{shown}"; use an image of {name}'


def _answer(system: System, address: Address) -> bytes:
    """Send the probe; return what arrives until it is long enough, too long, or too late."""
    answer = b""
    deadline = time.monotonic() + TIMEOUT
    try:
        with socket.create_connection((address.host, address.port), TIMEOUT) as connection:
            connection.sendall(system.probe)
            while chunk := connection.recv(65536):
                answer += chunk
                left = deadline - time.monotonic()
                if system.speaks in answer or len(answer) > MOST or left <= 0:
                    break
                connection.settimeout(left)
    except OSError:
        pass
    return answer


def _expect_new_enough(name: str, system: System, address: Address) -> None:
    if not system.oldest:
        return
    version = system.version(address)
    if _numbers(version) < system.oldest:
        oldest = ".".join(map(str, system.oldest))
        raise Unfit(f"is {name} {version}, but Fencepost needs {oldest} or newer")


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version: (17, 5) for "17.5 (Debian 17.5-1)"."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
