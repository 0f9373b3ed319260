"""A Redis that already runs, reached in plain text and over TLS, both through proxies of the local engine."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from harness.engines.engine import Cluster, Engine
from harness.network.topology import Address, AttachedSpec, ServerSpec, Topology
from tests.support.certificates import certified, terminated
from tests.support.waiting import PATIENCE
from workloads.settings import Tls, host_and_port

PLAIN, OVER_TLS = "redis-1", "redis-2"  # two names of the same server


@dataclass(frozen=True, slots=True)
class Relayed:
    """The Redis, and the proxies in front of it."""

    cluster: Cluster  # of the two servers that already run, for two clients
    redis: Address

    def said(self, at: Address, command: str) -> str:
        """The answer to a command."""
        with self.opened(at) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.recv(1 << 12).decode().strip()

    def opened(self, at: Address) -> socket.socket:
        """A connection that has logged in."""
        connection = socket.create_connection((at.host, at.port), PATIENCE)
        connection.sendall(self.login)
        assert connection.recv(64) == b"+OK\r\n"
        return connection

    @property
    def login(self) -> bytes:
        """What every client sends first."""
        return f"AUTH {self.redis.login.password}\r\n".encode()

    def has(self, key: str) -> bool:
        """Is there such a key, as the harness sees it?"""
        return self.said(self.redis, f"EXISTS {key}") == ":1"


@contextmanager
def relayed_servers(engine: Engine, folder: Path) -> Iterator[Relayed]:
    """Start them; only clients with a certificate get through the TLS of `OVER_TLS`."""
    certificates = certified(folder)
    one = Topology(servers=(ServerSpec(name="redis", system="redis"),), clients=1, partitions=False)
    with engine.start(one, f"test-{secrets.token_hex(4)}", folder / "server", print) as started:
        redis = started.servers[0].address
        with terminated(str(redis), certificates) as over_tls:
            plain = AttachedSpec(name=PLAIN, system="redis", address=redis, key="lock.servers")
            host, port = host_and_port(over_tls)
            tls = Tls(
                ca_file=str(certificates.authority),
                cert_file=str(certificates.certificate),
                key_file=str(certificates.key),
                host=host,
            )
            secured = AttachedSpec(
                name=OVER_TLS,
                system="redis",
                address=Address(host, int(port), replace(redis.login, tls=tls)),
                key="storage.servers",
            )
            attached = Topology(servers=(), clients=2, attached=(plain, secured), partitions=True)
            run_id = f"test-{secrets.token_hex(4)}"
            with engine.start(attached, run_id, folder / "run", print) as cluster:
                yield Relayed(cluster, redis)


def relay_processes() -> list[psutil.Process]:
    """The TLS relays of this process."""
    return [each for each in psutil.Process().children() if "harness.network.relay_process" in each.cmdline()]


def listening_ports(cluster: Cluster) -> set[int]:
    """The ports that a run listens on, but for the API of its Toxiproxy."""
    assert cluster.toxiproxy
    processes = [psutil.Process(child.process.pid) for child in cluster.children]  # type: ignore[attr-defined]
    every = [
        *relay_processes(),
        *processes,
        *(child for each in processes for child in each.children(recursive=True)),
    ]
    ports = {
        connection.laddr.port
        for process in every
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    return ports - {cluster.toxiproxy.api.port}
