"""Is a server usable? Fail fast on servers that can never become ready.

Waiting does not help in three cases: another system answers, it requires a login that
clients do not have, or it is older than the clients support.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from harness.core.errors import ServerNotReadyError
from harness.network.systems import MOST, SYSTEMS, TIMEOUT, System
from harness.network.topology import Address
from harness.network.unfit import Unfit

POLL = 0.02  # s
LONGEST_ANSWER = 80  # characters shown in a message
PATIENCE = 15.0  # s; for a server that seems to be another, before it is called that


def is_ready(name: str, address: Address) -> bool:
    """Ask a server of that system once; Unfit if asking again would not help."""
    system = SYSTEMS[name]
    answer = _answer(system, address)
    if answer.startswith(system.answers) and not _fits(system, answer):
        answer = _answer(system, address, PATIENCE)
    if not answer:
        _expect_silence(name, address)
        return False
    locked_out = bool(system.locked) and answer.startswith(system.locked) and not address.login.password
    if locked_out or not _fits(system, answer):
        raise Unfit(_is_another(name, answer))
    if not system.is_usable(address):
        return False
    if system.oldest and (why := too_old(name, system.version(address))):
        raise Unfit(why)
    return True


def wait_until_usable(
    is_usable: Callable[[], bool],
    check: Callable[[], None],
    failed: Callable[[str], ServerNotReadyError],
    *,
    deadline: float,
    why: str,
    foreign: float = 0.0,
) -> None:
    """Wait until a server is usable, and `check` meanwhile; if it is not, raise its error, with the reason.

    `why` is the reason at the deadline. One that is unfit may be another program's, which took the port
    before: then `check` fails within `foreign` seconds.
    """
    while True:
        try:
            if is_usable():
                return
        except Unfit as error:
            if not foreign:
                raise failed(str(error)) from None
            if why != str(error):
                why, deadline = str(error), min(deadline, time.monotonic() + foreign)
        check()
        if time.monotonic() > deadline:
            raise failed(why)
        time.sleep(POLL)


def unlike(name: str, address: Address) -> bytes | None:
    """Return what a server answers if it does not answer as that system does; None if it does."""
    answer = _answer(SYSTEMS[name], address)
    return None if _fits(SYSTEMS[name], answer) else answer


def _fits(system: System, answer: bytes) -> bool:
    return answer.startswith(system.answers) and system.speaks in answer


def _expect_silence(name: str, address: Address) -> None:
    """Raise Unfit if it does not answer its own protocol, but answers another.

    All protocols are tried at the same time: a server that accepts connections, but does not answer
    yet, keeps each waiting. One that has just started answers its own by then, too, if slowly on a busy
    machine. One that restarts meanwhile, as under Patroni, answers as it should to another's request, too.
    """
    with ThreadPoolExecutor(len(SYSTEMS)) as pool:
        answers = list(pool.map(lambda other: _answer(other, address), SYSTEMS.values()))
    for answer in answers:
        its_own = _fits(SYSTEMS[name], answer)
        if answer and not its_own and not _answer(SYSTEMS[name], address, PATIENCE):
            raise Unfit(_is_another(name, answer))


def _is_another(name: str, answer: bytes) -> str:
    shown = answer.decode(errors="replace").strip().replace("\r\n", " ")[:LONGEST_ANSWER]
    return f'cannot be used as {name}: it answers "{shown}"; use an image of {name}'


def _answer(system: System, address: Address, timeout: float = TIMEOUT) -> bytes:
    """Send the probe; return what arrives until it is long enough, too long, or too late."""
    answer = b""
    deadline = time.monotonic() + timeout
    try:
        with socket.create_connection((address.host, address.port), timeout) as connection:
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


def too_old(name: str, version: str) -> str | None:
    """Say why a server of that system is too old for the clients; None if it is not, or unknown."""
    oldest = SYSTEMS[name].oldest
    numbers = re.match(r"\d+(\.\d+)*", version)  # (17, 5) for "17.5 (Debian 17.5-1)"
    if not numbers or tuple(map(int, numbers[0].split("."))) >= oldest:
        return None
    return f"is {name} {version}, but Fencepost needs {'.'.join(map(str, oldest))} or newer"
