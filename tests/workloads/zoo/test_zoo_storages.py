"""Each planted bug of a storage, and its twin, shown directly on real servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from redis.exceptions import RedisError

from harness.clients.recorder import RecordedSession
from harness.engines.engine import Cluster, Engine
from harness.network.topology import ServerSpec, Topology
from harness.target import load
from harness.target.reading import shipped_folder
from tests.support.missing import need
from tests.support.stopped import frozen
from tests.support.systems import (
    Memory,
    commits_of,
    endpoints,
    lock_settings,
    password_of,
    run_named,
    storage_settings,
)
from tests.support.tap import Tap
from workloads.client import UNWRITTEN, NotApplied, Stale, Unknown
from workloads.locks import connect as connect_lock
from workloads.settings import StorageSettings
from workloads.storages import load_kind, postgres, redis
from workloads.zoo.token_past_2_to_53 import FIRST

DEADLINE = 20.0  # seconds
RESOURCE = "r0"
SERVERS = {"postgres": "postgres", "redis": "redis-storage"}
AS_NEW = (
    "DROP TABLE IF EXISTS register, audit, fence",
    "ALTER DATABASE fencepost RESET ALL",
    "ALTER SYSTEM RESET ALL",
    "SELECT pg_reload_conf()",
)


@pytest.fixture(scope="module")
def cluster(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A PostgreSQL and a Redis."""
    specs = tuple(ServerSpec(name=name, system=system) for system, name in SERVERS.items())
    topology = Topology(servers=specs, clients=1, partitions=False)
    need(local_engine, topology)
    with local_engine.start(
        topology, run_named("zoo-storages"), tmp_path_factory.mktemp("run"), print
    ) as started:
        yield started


class Exhibit:
    """The storage of a target in the zoo, newly set up."""

    def __init__(self, name: Any, cluster: Cluster) -> None:
        self.spec = load(shipped_folder() / "zoo" / f"{name}.toml").storage
        self.cluster = cluster
        self._opened: list[Any] = []
        EMPTY[self.spec.system](self.settings())
        load_kind(self.spec.kind).set_up(self.settings(), [RESOURCE])

    def settings(self, at: None = None, timeout: float = 5.0) -> StorageSettings:
        return storage_settings(
            self.spec.kind,
            at or endpoints(self.cluster, self.spec.system),
            fencing=self.spec.fencing,
            policy=self.spec.policy,
            timeout=timeout,
        )

    def open(self, **settings: Any) -> Any:
        self._opened.append(load_kind(self.spec.kind).connect(self.settings(**settings)))
        return self._opened[-1]

    @property
    def committed(self) -> list[tuple[Any, Any]]:
        return commits_of(self.spec.kind, endpoints(self.cluster, self.spec.system), RESOURCE)

    def stopped(self) -> Any:
        return frozen(self.cluster, SERVERS[self.spec.system])

    def restart(self) -> None:
        servers = [SERVERS[self.spec.system]]
        self.cluster.kill(servers)
        self.cluster.restart(servers)

    def close(self) -> None:
        for storage in self._opened:
            storage.reconnect()


def empty_postgres(settings: Any) -> None:
    with closing(postgres.make_connection(settings)) as wire:
        for statement in AS_NEW:
            wire.execute(statement)


def empty_redis(settings: Any) -> None:
    with closing(redis.connection(settings)) as connection:
        connection.execute("FLUSHALL")


EMPTY = {"postgres": empty_postgres, "redis": empty_redis}


@pytest.fixture
def exhibit(cluster: Cluster) -> Iterator[Any]:
    opened = []

    def open_one(name: Any) -> Exhibit:
        opened.append(Exhibit(name, cluster))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


def nothing() -> None:
    """Do nothing once the request has left."""


def outcome(storage: Any, token: int, value: str, sent: Callable[[], None] = nothing) -> Any:
    """Write, and return the outcome."""
    try:
        storage.write(RESOURCE, token, value, sent)
    except (NotApplied, Unknown) as error:
        return type(error)
    return "ok"


def wait_until(condition: Callable[..., Any]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.001)


def overtaken(case: Any) -> object:
    """Complete a newer write once an older one has left or is about to."""
    older, newer = case.open(), case.open()
    done = []

    def overtake() -> None:
        done.append(outcome(newer, 2, "new"))

    outcome(older, 1, "old", overtake)
    assert done == ["ok"]
    return case.committed


def test_a_check_before_the_write_can_be_overtaken(exhibit: Any) -> None:
    assert overtaken(exhibit("check-then-write")) == [(2, "new"), (1, "old")]
    assert overtaken(exhibit("check-then-write-twin")) in ([(1, "old"), (2, "new")], [(2, "new")])


def test_a_check_before_the_write_rejects_a_token_that_is_already_stale(exhibit: Any) -> None:
    case = exhibit("check-then-write")

    assert [outcome(case.open(), token, f"v{token}") for token in (2, 1)] == ["ok", Stale]


def after_a_wait(case: Any) -> tuple[list[Any], object]:
    """Let an older write wait for the row of a newer, uncommitted one; return its outcome and the log."""
    older, newer = case.open(), case.open()
    ends = []
    waiting = threading.Thread(target=lambda: ends.append(outcome(older, 1, "old")))

    def begin_the_older() -> None:
        wait_until(
            lambda: asked(
                case, "FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
            )
        )
        waiting.start()
        wait_until(lambda: asked(case, "FROM pg_locks WHERE NOT granted"))

    assert outcome(newer, 2, "new", begin_the_older) == "ok"
    waiting.join(DEADLINE)
    return ends, case.committed


def asked(case: Any, what: str) -> list[tuple[bytes | None, ...]]:
    with closing(postgres.make_connection(case.settings())) as wire:
        return wire.execute(f"SELECT 1 {what}")


@pytest.mark.parametrize("name", ["guard-in-sub-select", "guard-row-in-another-table"])
def test_a_guard_outside_the_row_is_not_rechecked_after_a_wait(exhibit: Any, name: str) -> None:
    assert after_a_wait(exhibit(name)) == (["ok"], [(2, "new"), (1, "old")])
    assert after_a_wait(exhibit(f"{name}-twin")) == ([Stale], [(2, "new")])


@pytest.mark.parametrize("name", ["guard-in-sub-select", "guard-row-in-another-table"])
def test_a_guard_outside_the_row_rejects_a_writer_that_need_not_wait(exhibit: Any, name: str) -> None:
    case = exhibit(name)

    assert [outcome(case.open(), token, f"v{token}") for token in (2, 1)] == ["ok", Stale]


@pytest.mark.parametrize(
    ("name", "tokens", "bug", "twin"),
    [
        ("equality-fence", (5, 5, 6, 7), ["ok", "ok", Stale, Stale], ["ok"] * 4),
        ("strict-fence-two-writes", (5, 5, 6), ["ok", Stale, "ok"], ["ok"] * 3),
        ("string-comparison-of-tokens", (9, 10, 11), ["ok", Stale, Stale], ["ok"] * 3),
        ("string-comparison-of-tokens", (10, 9), ["ok", "ok"], ["ok", Stale]),
        ("token-past-2-to-53", (FIRST + 2, FIRST + 1), ["ok", "ok"], ["ok", Stale]),
    ],
)
def test_a_wrong_comparison_accepts_and_rejects_the_wrong_tokens(
    exhibit: Any, name: str, tokens: tuple[int, ...], bug: list[Any], twin: list[Any]
) -> None:
    def outcomes(case: Any) -> list[Any]:
        storage = case.open()
        return [outcome(storage, token, f"v{place}") for place, token in enumerate(tokens)]

    assert outcomes(exhibit(name)) == bug
    assert outcomes(exhibit(f"{name}-twin")) == twin


def test_the_lock_of_large_tokens_counts_from_2_to_60(cluster: Cluster) -> None:
    spec = load(shipped_folder() / "zoo" / "token-past-2-to-53.toml").lock
    settings = lock_settings(spec.kind, endpoints(cluster, "redis"))

    with closing(connect_lock(settings, RecordedSession(Memory(), process=10, stride=100))) as lock:
        tokens = []
        for owner in ("0-1", "0-2"):
            tokens.append(lock.acquire("large", owner).token)
            lock.release("large", owner)

    assert tokens == [FIRST + 1, FIRST + 2]


def test_a_missing_row_counts_as_a_write(exhibit: Any) -> None:
    bug = exhibit("missing-row-counted-as-success")
    assert outcome(bug.open(), 1, "v") == "ok"
    assert (bug.committed, bug.open().read(RESOURCE)[0]) == ([], None)

    twin = exhibit("missing-row-counted-as-success-twin")
    assert outcome(twin.open(), 1, "v") == "ok"
    assert (twin.committed, twin.open().read(RESOURCE)) == ([(1, "v")], ("v", 1))


def after_a_quiet_while(case: Any) -> Any:
    """Write with a newer token, wait until no key has an expiry left, and write with an older one."""
    storage = case.open()
    assert outcome(storage, 2, "new") == "ok"
    with closing(redis.connection(case.settings())) as connection:

        def expires(key: Any) -> Any:
            return connection.execute("PTTL", key) >= 0

        wait_until(lambda: not any(expires(key) for key in connection.execute("KEYS", "*")))
    return outcome(storage, 1, "old")


def test_an_expired_mark_rejects_no_write(exhibit: Any) -> None:
    assert after_a_quiet_while(exhibit("expire-on-guarded-key")) == "ok"
    assert after_a_quiet_while(exhibit("expire-on-guarded-key-twin")) is Stale


def test_a_mark_that_has_not_expired_rejects_an_older_token(exhibit: Any) -> None:
    storage = exhibit("expire-on-guarded-key").open()

    assert [outcome(storage, token, f"v{token}") for token in (2, 1)] == ["ok", Stale]


def sent_without_an_answer(case: Any) -> tuple[int, list[tuple[Any, Any]]]:
    """Write while every answer except the login's is lost; return how often it was sent, and the log."""
    where = endpoints(case.cluster, "redis")
    tap = Tap("redis", where)
    storage = case.open(at=tap.endpoints, timeout=0.5)
    outcome(storage, 1, "first")
    storage.reconnect()
    tap.requests.clear()
    tap.cut_after = 1 + (len(b"+OK\r\n") if password_of(where) else 0)
    with suppress(Unknown, RedisError):
        storage.write(RESOURCE, 1, "second", lambda: None)
    storage.reconnect()
    tap.drain(DEADLINE)
    tap.close()
    return len(tap.requests), case.committed


def test_a_library_that_retries_writes_twice(exhibit: Any) -> None:
    sent, committed = sent_without_an_answer(exhibit("client-library-that-retries"))
    assert sent >= 2
    assert committed.count((1, "second")) == sent

    sent, committed = sent_without_an_answer(exhibit("client-library-that-retries-twin"))
    assert (sent, committed) == (1, [(1, "first"), (1, "second")])


def without_an_answer(case: Any) -> tuple[Any, object]:
    """Write to a stopped server; return the reported outcome and the log."""
    storage = case.open(timeout=0.5)
    storage.read(RESOURCE)
    with case.stopped():
        reported = outcome(storage, 1, "late")
    wait_until(lambda: case.committed)
    return reported, case.committed


def test_an_unanswered_write_is_reported_as_failed_but_takes_effect(exhibit: Any) -> None:
    assert without_an_answer(exhibit("timeout-counted-as-failure")) == (NotApplied, [(1, "late")])
    assert without_an_answer(exhibit("timeout-counted-as-failure-twin")) == (Unknown, [(1, "late")])


def seen_by_the_older(case: Any) -> Any:
    older, newer = case.open(), case.open()
    older.write(RESOURCE, 1, "old", nothing)
    newer.write(RESOURCE, 2, "new", nothing)
    return older.read(RESOURCE)


def test_a_cache_returns_a_replaced_value_to_its_own_client(exhibit: Any) -> None:
    assert seen_by_the_older(exhibit("read-from-a-cache")) == ("old", 1)
    assert seen_by_the_older(exhibit("read-from-a-cache-twin")) == ("new", 2)


def test_a_holders_second_write_has_no_token(exhibit: Any) -> None:
    def committed(case: Any) -> object:
        storage = case.open()
        assert [outcome(storage, 5, value) for value in ("x", "y")] == ["ok", "ok"]
        return case.committed

    assert committed(exhibit("code-path-without-the-token")) == [(5, "x"), (None, "y")]
    assert committed(exhibit("code-path-without-the-token-twin")) == [(5, "x"), (5, "y")]


def test_a_code_path_without_the_token_lets_a_stale_writer_through(exhibit: Any) -> None:
    case = exhibit("code-path-without-the-token")
    older, newer = case.open(), case.open()

    ends = [outcome(older, 5, "x"), outcome(newer, 6, "new"), outcome(older, 5, "y")]

    assert ends == ["ok", "ok", "ok"]
    assert newer.read(RESOURCE)[0] == "y"


def test_a_value_set_after_its_fence_is_stored_with_another_token(exhibit: Any) -> None:
    bug = exhibit("value-after-the-fence")
    overtaken(bug)
    assert bug.open().read(RESOURCE) == ("old", 2)

    twin = exhibit("value-after-the-fence-twin")
    overtaken(twin)
    assert twin.open().read(RESOURCE) == ("new", 2)


def test_a_restart_loses_a_mark_in_memory_but_keeps_the_data(exhibit: Any) -> None:
    def late_after_a_restart(case: Any) -> Any:
        case.open().write(RESOURCE, 2, "new", nothing)
        case.restart()
        assert case.open().read(RESOURCE) == ("new", 2)
        return outcome(case.open(), 1, "old")

    assert late_after_a_restart(exhibit("mark-in-memory-with-restart")) == "ok"
    assert late_after_a_restart(exhibit("mark-in-memory-with-restart-twin")) is Stale


def after_a_restart(case: Any) -> Any:
    assert outcome(case.open(), 2, "kept?") == "ok"
    case.restart()
    return case.open().read(RESOURCE)


def test_a_restart_loses_data_that_redis_had_in_memory(exhibit: Any) -> None:
    assert after_a_restart(exhibit("redis-without-persistence")) == (None, UNWRITTEN)
    assert after_a_restart(exhibit("redis-without-persistence-twin")) == ("kept?", 2)


def test_a_restart_loses_commits_that_were_not_yet_logged(exhibit: Any) -> None:
    bug = exhibit("asynchronous-commit")
    wait_until(lambda: asked(bug, "WHERE current_setting('wal_writer_delay') = '10s'"))
    assert after_a_restart(bug) == (None, UNWRITTEN)
    assert after_a_restart(exhibit("asynchronous-commit-twin")) == ("kept?", 2)


def test_a_late_write_passes_a_fence_that_was_not_raised_on_acquire(exhibit: Any) -> None:
    def late(case: Any) -> Any:
        older, newer = case.open(), case.open()
        if case.spec.fence_on_acquire:
            newer.fence(RESOURCE, 2)
        newer.read(RESOURCE)
        return outcome(older, 1, "late")

    assert late(exhibit("append-without-fence-on-acquire")) == "ok"
    assert late(exhibit("append-without-fence-on-acquire-twin")) is Stale
