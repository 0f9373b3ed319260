"""Patroni's REST API: which server leads, and how the others follow it."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

from harness.core.errors import InfrastructureError
from harness.network.systems import MOST, TIMEOUT
from harness.network.topology import Address

PORT = 8008  # inside a container
OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A server as Patroni shows it."""

    name: str
    role: str  # "leader", "replica", "sync_standby", …
    state: str  # of a leader "running", of another that follows it "streaming"
    timeline: int | None  # None: it does not answer Patroni

    def __str__(self) -> str:
        return f"{self.name} is {self.role}, {self.state}, on timeline {self.timeline}"


def leads(address: Address) -> bool:
    """Does the server run as the primary, and has the leader's key? Load balancers ask the same."""
    try:
        status, _ = _get(address, "/primary")
    except (OSError, http.client.HTTPException):
        return False
    return status == OK


def members(address: Address) -> tuple[Member, ...]:
    """Return all servers as one of them knows them; InfrastructureError if it does not answer."""
    try:
        _, answer = _get(address, "/cluster")
        return tuple(
            Member(
                name=member["name"],
                role=member["role"],
                state=member["state"],
                timeline=member.get("timeline"),
            )
            for member in json.loads(answer)["members"]
        )
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        raise InfrastructureError(f"Patroni at {address}: /cluster: {error!r}") from error


def _get(address: Address, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(MOST)
    finally:
        connection.close()
