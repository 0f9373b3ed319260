"""Which loads a target gets, by what its storage can do."""

import time
from pathlib import Path

import pytest

from harness.bench.bench import Bench, BenchOptions
from harness.bench.orders import LockedWrites, Window, WriteRounds
from harness.bench.series import (
    PLAIN,
    buffering_series,
    lock_series,
    rounds_series,
    write_series,
)
from harness.core.duration import NS
from harness.spec import Target, load
from tests.support.repository import ROOT

SHARED = ["redis-postgres", "etcd-etcd", "redis-redis", "redis-sqlite", "zookeeper-zookeeper", "s3-s3"]
OF_THE_USER = ["examples/own-class/files.toml", "examples/http-service/http.toml"]


@pytest.mark.parametrize("name", SHARED)
def test_fences_are_compared_with_the_write_without_one(name: str) -> None:
    for series in rounds_series(load(name)):
        assert PLAIN in series.writings
        assert len(series.writings) > 2


@pytest.mark.parametrize("file", OF_THE_USER)
def test_a_storage_of_the_user_is_only_measured_as_it_is(file: str) -> None:
    target = load(ROOT / file)  # strict

    assert list(rounds_series(target)) == []
    assert list(buffering_series(target)) == []  # a strict fence refuses a holder's second write
    assert {each.writing.fencing for each in write_series(target)} == {target.storage.fencing}


def inclusive(target: Target) -> Target:
    return target.model_copy(update={"storage": target.storage.model_copy(update={"policy": "inclusive"})})


@pytest.mark.parametrize("file", OF_THE_USER)
def test_an_inclusive_one_is_written_under_a_lock(file: str) -> None:
    assert len(list(buffering_series(inclusive(load(ROOT / file))))) == 4


def test_a_write_that_needs_its_lock_is_made_under_it() -> None:
    target = load("etcd-same-etcd")
    now = time.monotonic_ns()
    needs = [each for each in write_series(target) if each.writing.fencing == "lock-key"]
    window = Window(begins=now, ends=now + 1)
    orders = [each.order(3, window) for each in needs]
    orders += [each.order(3, window) for each in rounds_series(target)]

    assert [(each.clients, each.resources) for each in needs] == [(8, 8)]  # a lock has one holder
    assert len(orders) == 3
    assert {order.resource for order in orders} == {"b3"}
    assert all(isinstance(order, LockedWrites | WriteRounds) and order.keeps_lock for order in orders)
    assert [each.keeps_lock for each in buffering_series(target)] == [False, True] * 2


def test_a_write_of_another_etcd_than_the_lock_needs_no_lock() -> None:
    target = load("etcd-etcd")

    assert not any(each.keeps_lock for each in write_series(target))
    assert not any(each.keeps_lock for each in rounds_series(target))


def bench_of(name: str, max_rate: float | None) -> Bench:
    options = BenchOptions(lasts=NS["s"], max_rate=max_rate)
    return Bench(target=load(name), options=options, folder=Path(), engine="", say=str, began="", load=0)


def test_a_limit_leaves_out_what_it_cannot_hold() -> None:
    def left_out(name: str, max_rate: float) -> set[str]:
        return {each.key for each in bench_of(name, None).closed} - {
            each.key for each in bench_of(name, max_rate).closed
        }

    contended = {"acquire/8 clients/1 resources", "acquire/64 clients/8 resources"}
    contended |= {"acquire/64 clients/1 resources"}  # clients that wait poll
    kept = "write/conditional-update/8 clients/own resources/lock kept"  # 12 renewals a second

    assert left_out("redis-postgres", 13) == contended
    assert left_out("redis-postgres", 12) == {*contended, kept}
    assert bench_of("etcd-same-etcd", 12).in_rounds[0].clients == 1
    assert [each.clients for each in bench_of("etcd-same-etcd", 13).in_rounds] == [1, 8]


def test_the_requests_of_an_operation_are_counted() -> None:
    target = load("redis-postgres")

    assert {each.requests for each in lock_series()} == {2}
    assert {each.requests for each in write_series(target)} == {1}
    assert {each.lock: each.requests for each in buffering_series(target)} == {"for each write": 3, "kept": 1}
