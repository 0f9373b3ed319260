"""The TTLs that each kind of lock service can grant, in ns."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from checkers.text.limits import SHORTEST_LEASE
from harness.core.duration import NS
from harness.core.fields import Duration, at_most

DEFAULT_TTL = 2 * NS["s"]
_AN_HOUR = at_most(NS["h"], "1h")
_DEFAULT = Field(json_schema_extra={"default": "2s"})  # of a field whose own default is in ns


def _whole(unit: int, units: str, *, least: int, shortest: str) -> AfterValidator:
    """Allow whole units from a least number on; both are in ns, and in the words of an error."""

    def check(ttl: int) -> int:
        if ttl < least:
            raise ValueError(f"must be at least {shortest}")
        if ttl % unit:
            raise ValueError(f"must be whole {units}")
        return ttl

    return AfterValidator(check)


def _seconds(leases: str, why: str) -> AfterValidator:
    """Allow whole seconds from two on, with the reasons for both."""
    return _whole(NS["s"], f"seconds, as {leases} are", least=2 * NS["s"], shortest=f"2s: {why}")


Ttl = Annotated[Duration, _AN_HOUR, _DEFAULT]
MillisecondsTtl = Annotated[
    Duration, _whole(NS["ms"], "milliseconds", least=SHORTEST_LEASE, shortest="100ms"), _AN_HOUR, _DEFAULT
]
EtcdTtl = Annotated[Duration, _seconds("etcd's leases", "etcd grants no shorter lease"), _AN_HOUR, _DEFAULT]
_HEARTBEATS = _seconds("Hazelcast's sessions", "clients of Hazelcast send a heartbeat each second")
HazelcastTtl = Annotated[Duration, _HEARTBEATS, _AN_HOUR, _DEFAULT]
_OUTLIVES = "1s: a shorter session does not outlive its heartbeats"
ZookeeperTtl = Annotated[
    Duration, _whole(NS["ms"], "milliseconds", least=NS["s"], shortest=_OUTLIVES), _AN_HOUR, _DEFAULT
]
