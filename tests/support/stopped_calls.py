"""Every call of every client, and its outcome when its servers stop before each of its requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.systems import RELEASES

LOCK_CALLS = {
    ("etcd", "acquire"): "fail info",  # the lease, the key
    ("etcd", "release"): "info",
    ("etcd", "revoke"): "info",
    ("etcd-lock", "acquire"): "fail info info ok",  # the lease, the lock, its key, a first keep-alive
    ("etcd-lock", "release"): "info",
    ("etcd-lock", "revoke"): "info",
    ("get-lock", "acquire"): "info",
    ("get-lock", "release"): "info",
    ("get-lock", "revoke"): "info",
    ("http", "acquire"): "info",
    ("http", "release"): "info",
    ("http", "revoke"): "info",
    ("kahuna", "acquire"): "info",
    ("kahuna", "release"): "info",
    ("kahuna", "revoke"): "info",
    ("nats", "acquire"): "fail info",  # a read of the key, and the update
    ("nats", "release"): "info",
    ("nats", "revoke"): "info",
    ("redis", "acquire"): "info",
    ("redis", "release"): "info",
    ("redis", "revoke"): "info",
    ("redlock", "acquire"): "info info info ok ok",  # three servers are enough
    ("redlock", "release"): "info info info ok ok",
    ("redlock", "revoke"): "info info info ok ok",
    ("s3", "acquire"): "fail info",  # a read of the object, and the put
    ("s3", "release"): "info",
    ("s3", "revoke"): "info",
    ("sql-lease on mariadb", "acquire"): "info",
    ("sql-lease on mariadb", "release"): "info",
    ("sql-lease on mariadb", "revoke"): "info",
    ("sql-lease on postgres", "acquire"): "info",
    ("sql-lease on postgres", "release"): "info",
    ("sql-lease on postgres", "revoke"): "info",
    ("zookeeper", "acquire"): "fail info info",  # is the session good, the znode, the queue
    ("zookeeper", "release"): "info",
    ("zookeeper", "revoke"): "info",
}
"""The outcome of each call if its servers stop before its first request, its second, …"""

STORAGE_CALLS = {
    ("dynamodb", "none", "write"): "info",
    ("dynamodb", "conditional-expression", "write"): "info",
    ("dynamodb", "conditional-expression", "fence"): "info",
    ("dynamodb", "conditional-expression", "read"): "info",
    ("etcd", "none", "write"): "info",
    ("etcd", "transaction", "write"): "info",
    ("etcd", "transaction", "fence"): "info info",  # a read, and the raise
    ("etcd", "transaction", "read"): "info",
    ("http", "service", "write"): "info",
    ("http", "service", "fence"): "info",
    ("http", "service", "read"): "info",
    ("mariadb", "none", "write"): "info",
    ("mariadb", "conditional-update", "write"): "info",
    ("mariadb", "select-for-update", "write"): "fail fail fail info",  # BEGIN, SELECT, UPDATE, COMMIT
    ("mariadb", "upsert", "write"): "info",
    ("mariadb", "upsert", "fence"): "info",
    ("mariadb", "upsert", "read"): "info",
    ("postgres", "none", "write"): "info",
    ("postgres", "conditional-update", "write"): "info",
    ("postgres", "select-for-update", "write"): "fail fail fail info",  # BEGIN, SELECT, UPDATE, COMMIT
    ("postgres", "upsert", "write"): "info",
    ("postgres", "upsert", "fence"): "info",
    ("postgres", "upsert", "read"): "info",
    ("redis", "none", "write"): "info",
    ("redis", "script", "write"): "info",
    ("redis", "script", "fence"): "info",
    ("redis", "script", "read"): "info",
    ("s3", "none", "write"): "info",
    ("s3", "if-match", "write"): "fail info",  # a read of the mark, and the put
    ("s3", "if-match", "fence"): "fail info",
    ("s3", "if-match", "read"): "info",
    ("s3", "epoch-object", "write"): "fail info info",  # a read of the mark, its put, and the value's
    ("zookeeper", "none", "write"): "info",
    ("zookeeper", "version-check", "write"): "fail info",  # a read of the mark, and the multi
    ("zookeeper", "version-check", "fence"): "fail info",
    ("zookeeper", "version-check", "read"): "info",
}


def cases(calls: dict[Any, Any], system_of: Callable[..., Any]) -> Any:
    """Return a case for each request of each call, and one for each undisturbed call."""
    return [
        pytest.param(
            system_of(call),
            call,
            nth,
            id=f"{'-'.join(call)}-{nth or 'undisturbed'}",
            marks=[] if is_for_the_day(system_of(call), call, nth, outcomes) else pytest.mark.nightly,
        )
        for call, outcomes in calls.items()
        for nth in range(len(outcomes.split()) + 1)
    ]


def is_for_the_day(system: str, call: Any, nth: int, outcomes: str) -> bool:
    """Is it an undisturbed call, or the last request of an acquire or of a fenced write, on a quick image?"""
    return system not in RELEASES and (nth == 0 or is_main(call, nth, outcomes))


def is_main(call: Any, nth: int, outcomes: str) -> bool:
    """Is it the last request of an acquire or of a fenced write?"""
    return nth == len(outcomes.split()) and call[-1] in {"acquire", "write"} and call[-2] != "none"


def each_request(calls: dict[Any, Any], system_of: Callable[..., Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("system", "call", "nth"), cases(calls, system_of), indirect=["system"], scope="module"
    )
