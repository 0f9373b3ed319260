"""TLS to servers that already run: a relay in front of the proxies, which is a process of its own.

Clients and probes speak plain text to an address on loopback. The relay speaks TLS to the server, directly or
through a proxy, verifies its certificate for the host that the target names, and shows the certificate of
clients if the target gives one. So no client needs TLS of its own, and a proxy carries nothing but TLS: other
users of the machine can connect to it, but it lends them nothing.

The relay lends the user's certificate, so it serves no other user of the machine. A connection that is gone
before its user is known is refused too.

A client sees a fault behind the relay as in plain text: the relay passes on that the other side closes,
resets or refuses connections, and what a client sent before it closed arrives, however long a proxy holds it
back. It keeps at most some 64 KiB for each direction of a connection. But TLS needs a round trip before the
first request of a new connection: where no answers arrive, neither do its requests.

Clients of MariaDB and PostgreSQL speak TLS themselves, through the proxies: their protocols begin it in
plain text, and PostgreSQL's passwords are bound to it.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import IO

from harness.core.errors import InfrastructureError
from harness.network.ports import HOST
from harness.network.relay_process import RelayedServer
from harness.network.systems import begin_tls
from harness.network.topology import Address, AttachedSpec
from harness.processes.cleanup_process import companion


def is_relayed(server: AttachedSpec) -> bool:
    """Does the relay speak TLS to it for clients?"""
    return bool(server.address.login.tls) and begin_tls(server.system) is None


@dataclass(frozen=True, slots=True)
class Relay:
    """The relay of a run; any thread may use it."""

    process: subprocess.Popen[bytes] | None  # None: no server needs one
    asking: threading.Lock = field(default_factory=threading.Lock)

    def address_of(self, server: AttachedSpec) -> Address:
        """Return where to reach a server without TLS; itself, if it speaks none to us."""
        if not is_relayed(server):
            return server.address
        login = replace(server.address.login, tls=None)
        return Address(HOST, self._opened(server, server.address), login)

    def front(self, server: AttachedSpec, proxy: Address) -> Front:
        """Open a port in front of a server's proxy."""
        return Front(self, Address(HOST, self._opened(server, proxy)))

    def _opened(self, server: AttachedSpec, at: Address) -> int:
        tls = server.address.login.tls
        assert tls is not None  # noqa: S101 - it is relayed
        return self.ask("open", asdict(RelayedServer(host=at.host, port=at.port, tls=tls)))

    def ask(self, what: str, about: object) -> int:
        """Give an order to the process, and return the port that it answers with."""
        assert self.process is not None  # noqa: S101 - of a relay that has started
        assert self.process.stdin is not None  # noqa: S101 - a pipe
        assert self.process.stdout is not None  # noqa: S101 - a pipe
        said = b""
        with self.asking, suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({what: about}).encode() + b"\n")
            said = self.process.stdout.readline()
        if not said:
            raise InfrastructureError("the TLS relay has ended")
        return int(said)


@dataclass(frozen=True, slots=True)
class Front:
    """A port of the relay in front of a proxy. Where the proxy refuses connections, so must the port."""

    relay: Relay
    address: Address

    def refuse(self) -> None:
        """Refuse connections."""
        self.relay.ask("refuse", self.address.port)

    def accept(self) -> None:
        """Accept connections again."""
        self.relay.ask("accept", self.address.port)


@contextmanager
def relay_for(servers: Sequence[AttachedSpec], log: IO[bytes] | None = None) -> Iterator[Relay]:
    """Yield the relay for these servers; `log` gets a line for each connection that failed or was refused."""
    if not any(map(is_relayed, servers)):
        yield Relay(None)
        return
    with companion(
        "harness.network.relay_process",
        stdout=subprocess.PIPE,
        stderr=log or subprocess.DEVNULL,
        bufsize=0,  # nothing is left to flush for a process that has ended
    ) as process:
        yield Relay(process)
