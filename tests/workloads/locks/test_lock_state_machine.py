"""Lock clients on a real server, step by step, against a model of the holder."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings, stateful
from hypothesis import strategies as st

from harness.clients.recorder import RecordedSession
from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.systems import SECOND, Memory, endpoints, lock_settings, password_of, started
from workloads.client import NotApplied
from workloads.etcd_api import Connection
from workloads.locks import connect, etcd, polling, redis
from workloads.redis_connection import RedisConnection

CLIENTS = 3
CLIENT = st.integers(0, CLIENTS - 1)
TTL = 60 * SECOND  # no lease ends on its own, and only a step renews one
FEW_AND_ALWAYS_THE_SAME = settings(
    max_examples=25, stateful_step_count=30, derandomize=True, database=None, deadline=None
)
names = (f"stateful-{number}" for number in itertools.count())


@dataclass(frozen=True, slots=True)
class Service:
    """A lock service as its administrator sees it."""

    kind: str
    token: str
    endpoints: Sequence[str]
    owner: Callable[[str], str | None]
    """The holder of a resource's lock, by the service's own data."""
    end_lease: Callable[[str, Any], None]
    """End a lease now, like the service at its expiry; takes the resource, and the client at its acquire."""
    lease_of: Callable[[Any], Any]
    renew: Callable[[Any, str, str], object]


def etcd_service(at: Sequence[str]) -> Service:
    admin = Connection(tuple(at), 5.0, first=0)

    def owner(resource: str) -> str | None:
        found = admin.call("KV/Range", key=etcd.lock_key(resource)).kvs
        return found[0].value.decode() if found else None

    return Service(
        kind="etcd",
        token="create-revision",
        endpoints=at,
        owner=owner,
        end_lease=lambda _resource, lease: admin.call("Lease/LeaseRevoke", ID=lease),
        lease_of=lambda lock: lock._lease.lease,
        renew=lambda lock, _resource, _owner: lock._lease._keep_alive(),
    )


def redis_service(at: Sequence[str]) -> Service:
    admin = RedisConnection(at[0], 5.0, password_of(at))

    def owner(resource: str) -> str | None:
        found: str | None = admin.execute("GET", redis.lock_key(resource))
        return found

    return Service(
        kind="redis",
        token="counter",
        endpoints=at,
        owner=owner,
        end_lease=lambda resource, _lease: admin.execute("PEXPIRE", redis.lock_key(resource), 0),
        lease_of=lambda _lock: None,
        renew=lambda lock, resource, owner: lock._renewing.renew(resource, owner, owner),
    )


SERVICES = {"etcd": etcd_service, "redis": redis_service}


@pytest.fixture(params=SERVICES)
def service(
    request: pytest.FixtureRequest, local_engine: Engine, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    """A service whose clients do not wait for a taken lock."""
    monkeypatch.setattr(etcd, "PATIENCE", 0)
    monkeypatch.setattr(polling, "PATIENCE", 0)
    system = request.param
    server = ServerSpec(name=f"{system}-1", system=system)
    with started(local_engine, tmp_path, server) as cluster:
        yield SERVICES[system](endpoints(cluster, system))


@dataclass(slots=True)
class Hold:
    """A hold that a client believes in."""

    owner: str
    token: int
    lease: Any


class Locking(stateful.RuleBasedStateMachine):
    """Three clients of one lock; the model knows whose hold is in force."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self.resource = next(names)
        self.locks = [self._connected(client) for client in range(CLIENTS)]
        self.believed: dict[int, Hold] = {}
        self.in_force: Hold | None = None
        self.highest = -1
        self.owners = itertools.count()

    def _connected(self, client: int) -> Any:
        at = self.service.endpoints
        known = lock_settings(
            self.service.kind, at, client=client, timeout=5.0, token=self.service.token, ttl=TTL
        )
        return connect(known, RecordedSession(Memory(), process=10 + client, stride=100))

    @stateful.rule(client=CLIENT)
    def acquire(self, client: int) -> None:
        """It is granted if and only if no client holds the lock, with a higher token than ever before."""
        if client in self.believed:
            return
        owner = f"{client}-{next(self.owners)}"
        if self.in_force:
            with pytest.raises(NotApplied, match="not free in time"):
                self.locks[client].acquire(self.resource, owner)
            return
        grant = self.locks[client].acquire(self.resource, owner)
        assert grant.token > self.highest
        self.highest = grant.token
        self.in_force = Hold(owner, grant.token, self.service.lease_of(self.locks[client]))
        self.believed[client] = self.in_force

    @stateful.rule(client=CLIENT)
    def release(self, client: int) -> None:
        """It frees a hold in force, and is refused for a lost one."""
        if (hold := self.believed.pop(client, None)) is None:
            return
        if hold is self.in_force:
            self.locks[client].release(self.resource, hold.owner)
            self.in_force = None
            return
        with pytest.raises(NotApplied, match="is not the holder"):
            self.locks[client].release(self.resource, hold.owner)

    @stateful.rule(client=CLIENT)
    def revoke(self, client: int) -> None:
        """It ends only the client's own hold, lost or not."""
        if (hold := self.believed.pop(client, None)) is None:
            return
        if hold is self.in_force:
            self.locks[client].revoke(self.resource, hold.owner)
            self.in_force = None
            return
        with suppress(NotApplied):
            self.locks[client].revoke(self.resource, hold.owner)

    @stateful.rule(client=CLIENT)
    def renew(self, client: int) -> None:
        """A hold that was lost is never renewed."""
        if (hold := self.believed.get(client)) is None:
            return
        if hold is self.in_force:
            self.service.renew(self.locks[client], self.resource, hold.owner)
            return
        with pytest.raises(NotApplied, match="lease lost"):
            self.service.renew(self.locks[client], self.resource, hold.owner)

    @stateful.precondition(lambda self: self.in_force)
    @stateful.rule()
    def lease_ends(self) -> None:
        """The client does not notice."""
        assert self.in_force
        self.service.end_lease(self.resource, self.in_force.lease)
        self.in_force = None

    @stateful.rule(client=CLIENT)
    def client_starts_again(self, client: int) -> None:
        """It has forgotten its hold, which stays in force until its lease ends."""
        self.locks[client].close()
        self.locks[client] = self._connected(client)
        self.believed.pop(client, None)

    @stateful.invariant()
    def the_service_has_the_holder_of_the_model(self) -> None:
        assert self.service.owner(self.resource) == (self.in_force.owner if self.in_force else None)

    def teardown(self) -> None:
        for lock in self.locks:
            lock.close()


@pytest.mark.slow
def test_one_client_at_a_time_holds_the_lock_and_tokens_rise(service: Service) -> None:
    stateful.run_state_machine_as_test(lambda: Locking(service), settings=FEW_AND_ALWAYS_THE_SAME)
