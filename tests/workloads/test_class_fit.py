# ruff: noqa: ARG005 - signatures without bodies
"""A user's class fits the protocol of a lock or a storage, or what it lacks is named."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from harness.spec import load
from tests.support.repository import ROOT
from workloads import custom_class
from workloads.class_fit import misfits_of_lock, misfits_of_storage


class GoodLock:
    def __init__(self, settings: Any, session: Any) -> None: ...
    def acquire(self, resource: str, owner: str) -> None: ...
    def release(self, resource: str, owner: str) -> None: ...
    def revoke(self, resource: str, owner: str) -> None: ...
    def reconnect(self) -> None: ...
    def close(self) -> None: ...


class GoodStorage:
    def __init__(self, settings: Any) -> None: ...
    def write(self, resource: str, token: Any, value: str, sent: Any) -> None: ...
    def read(self, resource: str) -> None: ...
    def reconnect(self) -> None: ...


def lock(**changed: Any) -> type:
    return type("Mine", (GoodLock,), changed)


def storage(**changed: Any) -> type:
    return type("Mine", (GoodStorage,), changed)


class HandsOn:
    """Acquires itself, and hands the rest on to another client."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def acquire(self, resource: str, owner: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...


def with_a_database(method: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that passes one more argument on."""

    @functools.wraps(method)
    def wrapper(self: Any, *arguments: Any) -> Any:
        return method(self, "database", *arguments)

    return wrapper


async def awaited(self: Any, resource: str, owner: str) -> None: ...


@pytest.mark.parametrize(
    "found",
    [
        GoodLock,
        HandsOn,
        lock(acquire=lambda self, *args: None),
        lock(acquire=lambda self, resource, owner, timeout=1: None),
        lock(close=staticmethod(lambda: None)),
        lock(close=classmethod(lambda cls: None)),
        lock(release=functools.partialmethod(GoodLock.acquire)),
        lock(release=with_a_database(lambda self, database, resource, owner: None)),
    ],
)
def test_a_lock_that_takes_every_call_fits(found: type) -> None:
    assert [*misfits_of_lock(found)] == []


@pytest.mark.parametrize(
    "found",
    [
        GoodStorage,
        storage(set_up=staticmethod(lambda settings, resources: None), committed=lambda settings: []),
        storage(committed=classmethod(lambda cls, settings: [])),
    ],
)
def test_a_storage_that_takes_every_call_fits(found: type) -> None:
    assert [*misfits_of_storage(found, fences=False)] == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (lock(release=None), " has no release: it needs acquire, release, revoke, reconnect, close"),
        (lock(__init__=lambda self, settings: None), " takes settings, and is called with settings, session"),
        (lock(acquire=lambda self: None), ".acquire takes no arguments, and is called with resource, owner"),
        (lock(acquire=awaited), ".acquire is a coroutine function, and nothing awaits it"),
        (lock(close=lambda self, timeout: None), ".close takes timeout, and is called without arguments"),
        (lock(close=classmethod(lambda cls, x: None)), ".close takes x, and is called without arguments"),
        (GoodLock(None, None), " is an instance of GoodLock: name a class that has acquire, release"),
        (awaited, " is a function: name a class that has acquire, release, revoke, reconnect, close"),
    ],
)
def test_what_keeps_a_class_from_being_a_lock_is_named(found: object, said: str) -> None:
    (misfit,) = misfits_of_lock(found)

    assert misfit.startswith(said)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            storage(write=lambda self, resource, token, value: None),
            ".write takes resource, token, value, and is called with resource, token, value, sent: change its parameters",
        ),
        (
            storage(set_up=lambda self, settings, resources: None),
            ".set_up takes self, settings, resources, and is called on the class, without self, with settings, resources: change its parameters",
        ),
        (
            storage(committed=staticmethod(lambda: None)),
            ".committed takes no arguments, and is called on the class, without self, with settings: change its parameters",
        ),
    ],
)
def test_what_keeps_a_class_from_being_a_storage_is_named(found: type, said: str) -> None:
    assert [*misfits_of_storage(found, fences=False)] == [said]


def test_only_a_fence_at_each_grant_needs_a_fence_method() -> None:
    assert [*misfits_of_storage(GoodStorage, fences=True)] == [
        " has no fence: it needs write, read, fence, reconnect"
    ]


def test_a_method_inherited_from_the_protocol_is_missing() -> None:
    class Mine(fencepost.Lock):
        def __init__(self, settings: Any, session: Any) -> None: ...
        def acquire(self, resource: str, owner: str) -> fencepost.Grant: ...  # type: ignore[empty-body]

    (misfit,) = misfits_of_lock(Mine)

    assert misfit.startswith(" has no release, no revoke, no reconnect, no close")


def test_a_method_inherited_from_the_protocol_is_not_handed_on() -> None:
    class Mine(HandsOn, fencepost.Lock):  # type: ignore[misc]
        def __init__(self, settings: Any, session: Any) -> None: ...

    (misfit,) = misfits_of_lock(Mine)

    assert misfit.startswith(" has no release, no revoke, no reconnect, no close")


def test_an_abstract_method_is_missing() -> None:
    class Mine(fencepost.Lock):
        def __init__(self, settings: Any, session: Any) -> None: ...

        @abstractmethod
        def acquire(self, resource: str, owner: str) -> fencepost.Grant: ...

    (misfit,) = misfits_of_lock(Mine)

    assert misfit == " has no acquire, no release, no revoke, no reconnect, no close"


def test_all_that_does_not_fit_is_named_at_once() -> None:
    found = lock(__init__=lambda self: None, release=None, close=awaited)

    assert len([*misfits_of_lock(found)]) == 3


@pytest.mark.parametrize("file", sorted((ROOT / "targets/zoo").glob("*.toml")), ids=lambda file: file.stem)
def test_the_classes_of_a_target_of_the_zoo_fit(file: Path) -> None:
    target = load(file)

    if ":" in target.lock.kind:
        custom_class.check_lock(target.lock.kind)
    if ":" in target.storage.kind:
        custom_class.check_storage(target.storage.kind, fences=target.storage.fence_on_acquire)
