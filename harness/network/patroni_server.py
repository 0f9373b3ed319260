"""Patroni's REST API: which server leads, and how the others follow it."""

from __future__ import annotations

import http.client
from dataclasses import dataclass

from harness.core.errors import InfrastructureError
from harness.network.http_requests import answered, json_answer
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
        with answered(address, "/primary") as said:
            return said.status == OK
    except (OSError, http.client.HTTPException):
        return False


def members(address: Address) -> tuple[Member, ...]:
    """Return all servers as one of them knows them; InfrastructureError if it does not answer."""
    try:
        return tuple(
            Member(name=each["name"], role=each["role"], state=each["state"], timeline=each.get("timeline"))
            for each in json_answer(address, "/cluster")["members"]
        )
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        raise InfrastructureError(f"Patroni at {address}: /cluster: {error!r}") from error
