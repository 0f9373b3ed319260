"""The settings of two PostgreSQL servers that replicate, the same for both engines.

`compose/images/postgres/replicated.sh` starts each of them, and copies the primary's data where
that is necessary.
"""

from __future__ import annotations

from pathlib import Path

from harness.network.topology import Address, Server, ServerSpec

SCRIPT = "replicated.sh"  # in the folder of our image, and at its root


def link_to_primary(link: Address, passfile: Path | None = None) -> str:
    """Return the conninfo with which a server connects to the primary."""
    password = f" passfile={passfile}" if passfile else ""
    return f"host={link.host} port={link.port} user=fencepost{password}"


def role_of(server: ServerSpec | Server) -> str:
    """Return the role of a server when it starts for the first time."""
    return "standby" if server.follows else "primary"


def options_of(server: ServerSpec | Server) -> list[str]:
    """Return its own options for postgres.

    A standby has none, so that once promoted, it does not wait for a standby that it does not have.
    """
    return ["-c", "synchronous_standby_names=standby"] if server.synchronous else []
