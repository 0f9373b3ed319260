"""Tests that apply to every kind of storage that compares tokens, on real servers."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from tests.support import systems
from tests.support.stopped import frozen
from tests.support.systems import FENCE, IN_CONTAINERS, MAKES_ITS_ITEMS, CommitsOf, nothing
from tests.support.waiting import SOON
from workloads.client import NotApplied, Stale, Unknown
from workloads.storages import load_kind

pytestmark = pytest.mark.engine

POLICIES = ["strict", "inclusive"]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_fence_rejects_an_older_token(
    open_storage: Any, resource: str, commits_of: CommitsOf, policy: str
) -> None:
    storage = open_storage(policy=policy)
    storage.write(resource, 10, "new", nothing)

    with pytest.raises(Stale):
        storage.write(resource, 9, "old", nothing)

    assert storage.read(resource) == ("new", 10)
    assert commits_of(resource) == [(10, "new")]


def test_an_unfenced_storage_accepts_an_older_token(
    open_storage: Any, resource: str, commits_of: CommitsOf
) -> None:
    storage = open_storage("none")
    storage.write(resource, 10, "new", nothing)
    storage.write(resource, 9, "old", nothing)

    assert storage.read(resource) == ("old", 9)
    assert commits_of(resource) == [(10, "new"), (9, "old")]


def test_an_unfenced_storage_accepts_writes_without_a_token(
    open_storage: Any, resource: str, commits_of: CommitsOf
) -> None:
    storage = open_storage("none")
    storage.write(resource, None, "first", nothing)
    storage.write(resource, 2**63 - 1, "with a token", nothing)
    with_token = storage.read(resource)
    storage.write(resource, None, "last", nothing)

    assert with_token == ("with a token", 2**63 - 1)
    assert storage.read(resource) == ("last", None)
    assert commits_of(resource) == [(None, "first"), (2**63 - 1, "with a token"), (None, "last")]


def test_an_equal_token_is_stale_only_under_the_policy_strict(open_storage: Any, resource: str) -> None:
    open_storage().write(resource, 7, "first", nothing)

    with pytest.raises(Stale):
        open_storage().write(resource, 7, "second", nothing)
    open_storage(policy="inclusive").write(resource, 7, "third", nothing)

    assert open_storage().read(resource) == ("third", 7)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_first_token_of_a_resource_may_be_0(
    open_storage: Any, resource: str, commits_of: CommitsOf, policy: str
) -> None:
    storage = open_storage(policy=policy)

    storage.write(resource, 0, "first", nothing)

    assert storage.read(resource) == ("first", 0)
    assert commits_of(resource) == [(0, "first")]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_token_of_0_is_stale_once_a_higher_one_was_accepted(
    open_storage: Any, resource: str, policy: str
) -> None:
    storage = open_storage(policy=policy)
    storage.write(resource, 1, "new", nothing)

    with pytest.raises(Stale):
        storage.write(resource, 0, "old", nothing)


@pytest.mark.parametrize("mark", [0, 5])
def test_a_fence_may_come_before_the_first_write(open_storage: Any, resource: str, mark: int) -> None:
    storage = open_storage(policy="inclusive")

    storage.fence(resource, mark)

    assert storage.read(resource)[0] is None
    if mark:
        with pytest.raises(Stale):
            storage.write(resource, mark - 1, "late", nothing)
    storage.write(resource, mark, "first", nothing)


@pytest.mark.parametrize(("mark", "token"), [(9, 10), (2**53, 2**53 + 1), (999, 1000), (2**62, 2**63 - 1)])
def test_tokens_are_compared_as_numbers_of_any_size(
    open_storage: Any, resource: str, mark: int, token: int
) -> None:
    storage = open_storage()
    storage.write(resource, mark, "lower", nothing)
    storage.write(resource, token, "higher", nothing)

    with pytest.raises(Stale):
        storage.write(resource, mark, "late", nothing)

    assert storage.read(resource) == ("higher", token)


@pytest.mark.usefixtures("resource")  # a storage is set up before it is asked for anything
@pytest.mark.parametrize("fenced", [False, True])
def test_a_missing_resource_is_neither_a_success_nor_stale(
    open_storage: Any, commits_of: CommitsOf, kind: str, fencing: str, fenced: bool
) -> None:
    if fencing in MAKES_ITS_ITEMS and (fenced or kind in IN_CONTAINERS):
        pytest.skip("the first write creates the resource")
    with pytest.raises(NotApplied, match=r"no (hash|key|znode|row) for nowhere") as raised:
        open_storage(fencing if fenced else "none").write("nowhere", 1, "lost", nothing)

    assert not isinstance(raised.value, Stale)
    assert open_storage().read("nowhere") == (None, 0)
    assert commits_of("nowhere") == []


@pytest.mark.parametrize("policy", POLICIES)
def test_writers_that_race_commit_in_token_order(
    at: list[str], resource: str, commits_of: CommitsOf, kind: str, fencing: str, policy: str
) -> None:
    most = 80 if fencing == "select-for-update" else 200  # four requests for each write
    tokens = random.Random(1).sample(range(1, most + 1), most)

    def write(number: int) -> None:
        with systems.storage_clients(kind, at, fencing=fencing, timeout=30) as open_one:
            storage = open_one(policy=policy)
            for token in tokens[number::4]:
                with suppress(Stale):
                    storage.write(resource, token, f"v{token}", nothing)

    in_threads(write)

    committed = [token for token, _ in commits_of(resource)]
    assert committed == sorted(set(committed))
    assert committed[-1] == most


def in_threads(work: Callable[[int], None]) -> None:
    """Do it four times at once; what a thread opens, it closes."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_connecting_to_a_stopped_server_ends_in_time_with_nothing_sent(
    open_storage: Any, resource: str, servers: Any, kind: str
) -> None:
    if servers is None:
        pytest.skip("a file has no server")
    storage = open_storage(timeout=0.5)

    with frozen(servers, kind):
        called = time.monotonic()
        with pytest.raises((Unknown, NotApplied)):
            storage.write(resource, 1, "never", nothing)

    assert time.monotonic() - called < SOON


def test_a_refused_connection_applies_nothing(kind: str, fencing: str) -> None:
    settings = systems.storage_settings(kind, ["127.0.0.1:1"], fencing=fencing, timeout=1.0)
    storage = load_kind(kind).connect(settings)

    with pytest.raises(NotApplied, match=r"(?i)refused|not connect|no session|unable to open"):
        storage.write("r0", 1, "never", nothing)


def test_a_fence_keeps_the_value_and_older_writers_out(
    open_storage: Any, resource: str, commits_of: CommitsOf
) -> None:
    storage = open_storage(policy="inclusive")
    storage.write(resource, 3, "kept", nothing)
    storage.fence(resource, 5)
    storage.fence(resource, 5)

    with pytest.raises(Stale):
        storage.write(resource, 4, "late", nothing)
    assert storage.read(resource) == ("kept", 3)
    storage.write(resource, 5, "own", nothing)
    assert commits_of(resource) == [(3, "kept"), (5, FENCE), (5, FENCE), (5, "own")]


def test_a_fence_below_the_mark_is_stale_and_not_in_the_log(
    open_storage: Any, resource: str, commits_of: CommitsOf
) -> None:
    storage = open_storage(policy="inclusive")
    storage.fence(resource, 5)

    with pytest.raises(Stale):
        storage.fence(resource, 4)
    assert commits_of(resource) == [(5, FENCE)]


def test_fences_are_logged_between_the_writes_around_them(
    open_storage: Any, resource: str, commits_of: CommitsOf
) -> None:
    storage, other = open_storage(policy="inclusive"), open_storage(policy="inclusive")
    storage.fence(resource, 0)
    storage.write(resource, 0, "a", nothing)
    storage.write(resource, 7, "b", nothing)
    other.fence(resource, 7)  # of the same token as the write before: it changes nothing
    other.write(resource, 7, "c", nothing)
    other.fence(resource, 2**63 - 1)
    for write in (storage.write, other.write):
        with pytest.raises(Stale):
            write(resource, 8, "late", nothing)

    assert other.read(resource) == ("c", 7)
    assert commits_of(resource) == [(0, FENCE), (0, "a"), (7, "b"), (7, FENCE), (7, "c"), (2**63 - 1, FENCE)]


def test_fences_that_race_with_writes_are_logged_in_token_order(
    at: list[str], resource: str, commits_of: CommitsOf, kind: str, fencing: str
) -> None:
    rng = random.Random(2)
    accepted: list[tuple[int, str]] = []

    def race(tokens: Sequence[int]) -> None:
        def work(number: int) -> None:
            with systems.storage_clients(kind, at, fencing=fencing) as open_one:
                storage = open_one(policy="inclusive")
                for token in tokens[number::4]:
                    with suppress(NotApplied):
                        if number % 2:
                            storage.fence(resource, token)
                            accepted.append((token, FENCE))
                        else:
                            storage.write(resource, token, f"v{token}", nothing)
                            accepted.append((token, f"v{token}"))

        in_threads(work)

    for lowest in range(1, 2_001, 100):
        race(rng.sample(range(lowest, lowest + 100), 100))
        if {FENCE} < {value for _, value in accepted}:  # else one kind was ahead of all of the other
            break

    committed = commits_of(resource)
    assert committed == sorted(accepted)
    assert {FENCE} < {value for _, value in committed}
