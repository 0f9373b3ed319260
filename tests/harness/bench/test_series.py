"""Which loads a target gets, by what its storage can do."""

import pytest

from harness.bench.series import (
    PLAIN,
    buffering_series,
    lock_series,
    rounds_series,
    write_series,
)
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


def test_a_write_that_needs_its_lock_is_not_compared() -> None:
    target = load("etcd-same-etcd")

    assert target.storage.fencing == "lock-key"
    assert {each.writing.fencing for each in write_series(target)} == {"none", "transaction"}
    assert list(buffering_series(target)) == []


def test_the_requests_of_an_operation_are_counted() -> None:
    target = load("redis-postgres")

    assert {each.requests for each in lock_series()} == {2}
    assert {each.requests for each in write_series(target)} == {1}
    assert {each.lock: each.requests for each in buffering_series(target)} == {"for each write": 3, "kept": 1}
