"""Each planted bug of a storage, and its twin, shown directly on real servers."""

from __future__ import annotations

import threading
from contextlib import closing, suppress
from typing import Any

import pytest
from redis.exceptions import RedisError

from harness.clients.recorder import RecordedSession
from harness.engines.engine import Cluster
from harness.spec import load
from harness.spec.reading import shipped_folder
from tests.support.systems import Memory, endpoints, lock_settings, nothing, password_of
from tests.support.tap import Tap
from tests.support.waiting import wait_for
from tests.support.zoo_storages import DEADLINE, RESOURCE, asked, outcome
from workloads.client import NotApplied, Stale, Unknown
from workloads.locks import connect as connect_lock
from workloads.storages import redis
from workloads.zoo.retry_without_the_token import SOON
from workloads.zoo.token_past_2_to_53 import FIRST


def overtaken(case: Any) -> object:
    """Complete a newer write once an older one has left or is about to."""
    older, newer = case.open(), case.open()
    done = []

    def overtake() -> None:
        done.append(outcome(newer, 2, "new"))

    outcome(older, 1, "old", overtake)
    assert done == ["ok"]
    return case.committed


@pytest.mark.slow
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
        assert wait_for(
            lambda: asked(
                case, "FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
            )
        )
        waiting.start()
        assert wait_for(lambda: asked(case, "FROM pg_locks WHERE NOT granted"))

    assert outcome(newer, 2, "new", begin_the_older) == "ok"
    waiting.join(DEADLINE)
    return ends, case.committed


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

        assert wait_for(lambda: not any(expires(key) for key in connection.execute("KEYS", "*")))
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


@pytest.mark.slow
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
    assert wait_for(lambda: case.committed)
    return reported, case.committed


def test_an_unanswered_write_is_reported_as_failed_but_takes_effect(exhibit: Any) -> None:
    assert without_an_answer(exhibit("timeout-counted-as-failure")) == (NotApplied, [(1, "late")])
    assert without_an_answer(exhibit("timeout-counted-as-failure-twin")) == (Unknown, [(1, "late")])


def late(case: Any) -> tuple[Any, Any, object]:
    """Write with an old token to a running server, then to one that is stopped for a while."""
    client = case.open()
    client.write(RESOURCE, 2, "newer", nothing)
    before = outcome(client, 1, "answered")
    ends: list[Any] = []
    writing = threading.Thread(target=lambda: ends.append(outcome(client, 1, "unanswered")))
    with case.stopped():
        writing.start()
        writing.join(3 * SOON)  # the first attempt is given up, the second waits
    writing.join(DEADLINE)
    return before, ends, case.committed


@pytest.mark.slow
def test_a_retry_without_its_token_passes_once_the_server_was_stopped(exhibit: Any) -> None:
    accepted = [(2, "newer"), (1, "unanswered")]
    assert late(exhibit("retry-without-the-token")) == (Stale, ["ok"], accepted)
    assert late(exhibit("retry-without-the-token-twin")) == (Stale, [Stale], accepted[:1])


def test_a_retry_of_an_accepted_write_changes_nothing(exhibit: Any) -> None:
    for name in ("retry-without-the-token", "retry-without-the-token-twin"):
        case = exhibit(name)
        client = case.open()

        assert [outcome(client, 1, "same") for _ in range(2)] == ["ok", "ok"]
        assert case.committed == [(1, "same")]


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


@pytest.mark.slow
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
    assert after_a_restart(exhibit("redis-without-persistence")) == (None, None)
    assert after_a_restart(exhibit("redis-without-persistence-twin")) == ("kept?", 2)


@pytest.mark.slow
def test_a_restart_loses_commits_that_were_not_yet_logged(exhibit: Any) -> None:
    bug = exhibit("asynchronous-commit")
    assert wait_for(lambda: asked(bug, "WHERE current_setting('wal_writer_delay') = '10s'"))
    assert after_a_restart(bug) == (None, None)
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
