"""The TTLs that each kind of lock service can grant, in ns."""

from __future__ import annotations

from pydantic.config import JsonDict

from checkers.vocabulary.hindrances import SHORTEST_LEASE
from harness.core.duration import NS
from harness.spec.fields import LONGEST_TTL

SHORTEST_ETCD_TTL = 2 * NS["s"]
SHORTEST_HAZELCAST_SESSION = 2 * NS["s"]
SHORTEST_TTL = SHORTEST_LEASE
SHORTEST_SESSION = NS["s"]
TWO_SECONDS: JsonDict = {"default": "2s"}
"""For the schema, of a field whose default is in ns."""


def is_valid_for_etcd(ttl: int) -> int:
    """Return a TTL that etcd grants; ValueError for any other."""
    if ttl < SHORTEST_ETCD_TTL:
        raise ValueError("must be at least 2s: etcd grants no shorter lease")
    if ttl % NS["s"]:
        raise ValueError("must be whole seconds, as etcd's leases are")
    return is_at_most_an_hour(ttl)


def is_valid_for_hazelcast(ttl: int) -> int:
    """Return a time to live of Hazelcast's CP sessions; ValueError for any other."""
    if ttl < SHORTEST_HAZELCAST_SESSION:
        raise ValueError("must be at least 2s: clients of Hazelcast send a heartbeat each second")
    if ttl % NS["s"]:
        raise ValueError("must be whole seconds, as Hazelcast's sessions are")
    return is_at_most_an_hour(ttl)


def is_whole_milliseconds(ttl: int) -> int:
    """Return a TTL in whole milliseconds; ValueError for any other."""
    if ttl < SHORTEST_TTL:
        raise ValueError("must be at least 100ms")
    if ttl % NS["ms"]:
        raise ValueError("must be whole milliseconds")
    return is_at_most_an_hour(ttl)


def is_valid_for_zookeeper(ttl: int) -> int:
    """Return a timeout that a session of ZooKeeper outlives; ValueError for any other."""
    if ttl < SHORTEST_SESSION:
        raise ValueError("must be at least 1s: a shorter session does not outlive its heartbeats")
    if ttl % NS["ms"]:
        raise ValueError("must be whole milliseconds")
    return is_at_most_an_hour(ttl)


def is_at_most_an_hour(ttl: int) -> int:
    """Return a TTL of at most an hour; ValueError for any other."""
    if ttl > LONGEST_TTL:
        raise ValueError("must be at most 1h")
    return ttl
