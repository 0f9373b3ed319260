"""Does a server answer over an edge? Probed with a real request, over a new connection."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from harness.core.errors import InfrastructureError
from harness.network.members import PROBED
from harness.network.systems import System
from harness.network.topology import Address

Key = TypeVar("Key", bound=Hashable)

OPENING = 2.0  # s; a proxy on this machine accepts at once
MOST = 256  # bytes read at a time


def reply(address: Address, system: str, within: float) -> float | None:
    """Probe once, and return how long the answer took (s); None if none came `within` that time (s).

    A connection that opens and stays silent, is refused, or closes has not answered.
    """
    asked = time.monotonic()
    answered = None
    try:
        with socket.create_connection((address.host, address.port), timeout=within) as connection:
            connection.sendall(PROBED[system].probe)
            probe = SentProbe(connection, system)
            while answered is None:
                connection.settimeout(max(asked + within - time.monotonic(), 0.001))
                answered = probe.is_answered()
    except OSError:
        return None
    return time.monotonic() - asked if answered else None


def replies(targets: Mapping[Key, tuple[Address, str]], within: float) -> dict[Key, float | None]:
    """Probe several (address, system) at the same time."""
    with ThreadPoolExecutor(max_workers=max(len(targets), 1)) as pool:
        asked = {key: pool.submit(reply, *target, within) for key, target in targets.items()}
        return {key: future.result() for key, future in asked.items()}


@dataclass(slots=True)
class SentProbe:
    """A probe that was sent, on a connection that stays open."""

    connection: socket.socket
    system: str
    _received: bytes = b""

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(PROBED[self.system].probe)

    def is_answered(self) -> bool | None:
        """Read what has come, and say whether it is the answer; None if so far it is only a greeting."""
        known = PROBED[self.system]
        try:
            came = self.connection.recv(MOST)
        except OSError:
            return False
        self._received += came
        answered = self._received.startswith(known.answers)
        after_greeting = known.after_greeting if isinstance(known, System) else None
        if answered and after_greeting and not after_greeting(self._received):
            return None if came else False
        return answered


@contextmanager
def requests(targets: Mapping[Key, tuple[Address, str]]) -> Iterator[Mapping[Key, SentProbe]]:
    """Send a probe to each (address, system), and keep the connections open."""
    with ExitStack() as stack:
        sent = {}
        for key, (address, system) in targets.items():
            try:
                connection = socket.create_connection((address.host, address.port), timeout=OPENING)
                sent[key] = SentProbe(stack.enter_context(connection), system)
                connection.sendall(PROBED[system].probe)
            except OSError as error:
                raise InfrastructureError(f"{key} could not be probed: {error}") from error
        yield sent


def answers(sent: Mapping[Key, SentProbe], within: float, at_least: int) -> set[Key]:
    """Wait until so many are answered, for `within` seconds at most, and return which."""
    deadline = time.monotonic() + within
    answered: set[Key] = set()
    with selectors.DefaultSelector() as waiting:
        for key, request in sent.items():
            waiting.register(request.connection, selectors.EVENT_READ, key)
        while waiting.get_map() and len(answered) < at_least and (left := deadline - time.monotonic()) > 0:
            for ready, _ in waiting.select(left):
                if (is_answered := sent[ready.data].is_answered()) is not None:
                    waiting.unregister(ready.fileobj)
                if is_answered:
                    answered.add(ready.data)
    return answered
