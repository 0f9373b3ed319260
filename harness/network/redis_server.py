"""Administration of a Redis server: its role, clock and replication, with one connection per request."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from harness.core.duration import NS
from harness.core.errors import InfrastructureError
from harness.network.topology import Address
from workloads.settings import REDIS_ADMINISTRATOR

TIMEOUT = 2.0  # s; per request
MOST = 2**20  # bytes of one answer
DANGEROUS = ("acl", "config", "debug", "failover", "migrate", "module", "replicaof", "shutdown", "slaveof")


def access(password: str) -> tuple[str, ...]:
    """Return configuration lines that require the password and allow only the necessary commands."""
    everything = f"on >{password} ~* &* +@all"
    never = " ".join(f"-{command}" for command in DANGEROUS)
    return (
        f"user default {everything} {never}",
        f"user {REDIS_ADMINISTRATOR} {everything} {never} +replicaof +config|set",
        f"masterauth {password}",
    )


def is_usable(address: Address) -> bool:
    """Has it loaded its data, and as a replica, those of its primary?"""
    try:
        return _line(address, b"PING") == b"+PONG" and role(address).link != "down"
    except OSError:
        return False


def version(address: Address) -> str:
    """Return such as "8.0.2", or "Valkey 8.1.1", which also names a release of Redis that it replaces."""
    info = _info(address, "server")
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else info["redis_version"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisRole:
    """A Redis server's role in replication."""

    role: str  # "master" or "slave", as it calls itself
    link: str  # to its primary: "up" or "down"; "" without a primary
    offset: int  # bytes of replication that it has sent or received


def role(address: Address) -> RedisRole:
    """Return a server's role; OSError if it does not answer."""
    info = _info(address, "replication")
    return RedisRole(
        role=info["role"],
        link=info.get("master_link_status", ""),
        offset=int(info.get("slave_repl_offset", info["master_repl_offset"])),
    )


def clock(address: Address) -> int:
    """Return a server's wall clock (ns since 1970); OSError if it does not answer."""
    with _asked(address, b"TIME") as answer:
        _, _, seconds, _, microseconds = (answer.readline(MOST) for _ in range(5))
    return int(seconds) * NS["s"] + int(microseconds) * NS["us"]


def run_id(address: Address) -> str:
    """Return the run_id of a server's process; OSError if it does not answer."""
    return _info(address, "server")["run_id"]


def fields(address: Address, command: str) -> dict[str, str]:
    """Return the names and values that a command answers with; OSError if it does not."""
    with _asked(address, command.encode()) as answer:
        words = [_bulk(answer, address, command) for _ in range(_size(answer, b"*", address, command))]
    return dict(zip(words[::2], words[1::2], strict=True))


def follow(address: Address, primary: Address | None) -> None:
    """Make a server follow another, or (None) follow none and accept writes."""
    whom = "NO ONE" if primary is None else f"{primary.host} {primary.port}"
    answer = _line(address, f"REPLICAOF {whom}".encode())
    if not answer.startswith(b"+OK"):
        raise InfrastructureError(f"Redis at {address}: REPLICAOF {whom}: {answer.decode()}")


@contextmanager
def _asked(address: Address, command: bytes) -> Iterator[BinaryIO]:
    """Send an inline command, and yield its answer; OSError if the server rejects the login."""
    with (
        socket.create_connection((address.host, address.port), TIMEOUT) as connection,
        connection.makefile("rb") as answer,
    ):
        if address.login.password:
            connection.sendall(_login(address.login.user or REDIS_ADMINISTRATOR, address.login.password))
            if not (said := answer.readline(MOST)).startswith(b"+OK"):
                raise PermissionError(f"Redis at {address}: {said.decode(errors='replace').strip()}")
        connection.sendall(command + b"\r\n")
        yield answer


def _login(user: str, password: str) -> bytes:
    words = [word.encode() for word in ("AUTH", user, password)]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def _info(address: Address, section: str) -> dict[str, str]:
    with _asked(address, f"INFO {section}".encode()) as answer:
        info = _bulk(answer, address, "INFO")
    return dict(line.split(":", 1) for line in info.splitlines() if ":" in line)


def _bulk(answer: BinaryIO, address: Address, asked: str) -> str:
    """Read a text of an answer."""
    return answer.read(_size(answer, b"$", address, asked) + 2)[:-2].decode(errors="replace")


def _size(answer: BinaryIO, kind: bytes, address: Address, asked: str) -> int:
    """Read the size of a text ("$") or of a list ("*"); OSError if the answer has something else."""
    size = answer.readline(MOST)
    if not re.fullmatch(rb"%b\d{1,7}\r\n" % re.escape(kind), size):
        raise ConnectionError(f"Redis at {address} answered {asked} with {size[:80]!r}")
    return int(size[1:])


def _line(address: Address, command: bytes) -> bytes:
    with _asked(address, command) as answer:
        return answer.readline(MOST).rstrip()
