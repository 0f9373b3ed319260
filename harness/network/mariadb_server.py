"""A MariaDB server: its readiness, version and clock, with one connection per request.

The server speaks first: it greets a new connection, and then answers what it is sent.
"""

from __future__ import annotations

import socket
import struct
from contextlib import closing

from harness.core.duration import NS
from harness.network.topology import Address
from harness.network.unfit import Unfit
from workloads.client import NotApplied, Unknown
from workloads.settings import Settings

TIMEOUT = 2.0  # s; per request
PASSWORD = "fencepost"  # noqa: S105 - in images, unless the engine has set another
DATABASE = "fencepost"
PROBE = b"\x01\0\0\x01\0"  # too short for a login: it answers "Bad handshake", and closes the connection
GREETINGS = tuple(b"%c\0\0\0\n" % length for length in range(64, 256))  # of protocol 10, with its length
REFUSALS = {1044, 1045, 1049, 1130, 1698}
"""Its errors for a login that can never succeed."""
_AWAY = """SELECT COUNT(*) = 2 FROM information_schema.global_status WHERE
    (variable_name, variable_value) IN (('wsrep_provider_name', 'Galera'), ('wsrep_ready', 'OFF'))"""
"""Is it a node of Galera that does not serve, such as one of a minority? It still answers without a table."""
_GROUP = """SELECT CAST(MAX(variable_value) AS INTEGER) FROM information_schema.global_status
    WHERE variable_name = 'wsrep_cluster_size'"""
_HEAD = 4  # bytes before each packet: its length, and its number
_TLS = 0x800  # CLIENT_SSL
_FLAGS = 0x1 | 0x200 | _TLS | 0x8000  # with long passwords, protocol 4.1, and its logins
_SSL_REQUEST = struct.pack("<IIB23x", _FLAGS, 2**24 - 1, 45)  # without a name or a password


def is_usable(address: Address) -> bool:
    """Can `fencepost` log in to its database, and use it? Unfit if it never will."""
    try:
        return _value(address, _AWAY, DATABASE) == 0
    except NotApplied as error:
        from workloads.mariadb_connection import refuses_with  # slow to import

        if refuses_with(error, REFUSALS):
            raise Unfit(
                f"refuses user fencepost: {error}; its image must let that user into the database "
                "fencepost with the password fencepost"
            ) from None
        return False
    except Unknown:
        return False


def group_of(address: Address) -> int:
    """Return how many nodes of Galera form a group with this one, by its own account; 0 if it does not serve.

    One that was paused still counts the others, which may go on without it.
    """
    try:
        return int(_value(address, _GROUP)) if is_usable(address) else 0
    except (NotApplied, Unknown):
        return 0


def version(address: Address) -> str:
    """Return such as "11.8.9-MariaDB-0+deb13u1 from Debian"."""
    return str(_value(address, "SELECT VERSION()"))


def clock(address: Address) -> int:
    """Return a server's wall clock (ns since 1970); OSError if it does not answer."""
    try:
        return int(_value(address, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1e6 AS INTEGER)")) * NS["us"]
    except (NotApplied, Unknown) as error:
        raise ConnectionError(str(error)) from None


def _value(address: Address, query: str, database: str | None = None) -> str | int:
    """Return the one value that a query returns; NotApplied or Unknown if it fails."""
    from workloads.mariadb_connection import MariadbConnection  # slow to import

    settings = Settings(kind="mariadb", endpoints=(str(address),), timeout=TIMEOUT, login=address.login)
    with closing(MariadbConnection(settings, database)) as connection:
        ((value,),) = connection.execute(query)
    assert value is not None, f"it has one value: {query}"  # noqa: S101
    return value


def after_greeting(received: bytes) -> bytes:
    """Return what a server has sent after its greeting."""
    return received[_HEAD + int.from_bytes(received[:3], "little") :]


def begins_tls(connection: socket.socket) -> bool:
    """Ask a server to speak TLS on a new connection: does it agree?"""
    with connection.makefile("rb") as answer:  # nothing follows the greeting before a request
        length = int.from_bytes(answer.read(_HEAD)[:3], "little")
        greeting = answer.read(length)
    after_version = greeting[greeting.find(b"\0", 1) + 1 :]
    (offered,) = struct.unpack_from("<13xH", after_version.ljust(15, b"\0"))  # after an id and some salt
    if not offered & _TLS:
        return False
    connection.sendall(struct.pack("<I", len(_SSL_REQUEST) | 1 << 24) + _SSL_REQUEST)
    return True
