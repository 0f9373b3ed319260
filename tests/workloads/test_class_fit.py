# ruff: noqa: ARG005 - signatures without bodies
"""A user's class fits the protocol of a lock or a storage, or what it lacks is named; its source is only read."""

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
from workloads.class_source import missing


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


RUNS = 'open("it-ran", "w")\n'
MODULES = {
    "mine.py": RUNS + "import re\nDIGIT = '\\d'\nclass MyLock: ...\nif re:\n    Bound = MyLock\n",
    "lazy.py": RUNS + "def __getattr__(name): ...\n",
    "all.py": RUNS + "from mine import *\n",
    "renamed.py": RUNS + "from mine import MyLock as Theirs\n",
    "broken.py": RUNS + "class (\n",
    "package/__init__.py": RUNS,
    "package/locks.py": RUNS + "class Deep: ...\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has these modules."""
    (tmp_path / "package").mkdir()
    for name, source in MODULES.items():
        (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "kind",
    [
        "mine:MyLock",
        "mine:Bound",
        "lazy:Anything",
        "all:Anything",
        "renamed:Theirs",
        "package.locks:Deep",
        "json:JSONDecoder",
        "math:Unknown",  # has no source
    ],
)
def test_a_class_that_may_be_there_is_not_missing(kind: str) -> None:
    assert missing(kind) is None
    assert not Path("it-ran").exists()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("mine:MyLok", "mine.py has no MyLok; did you mean MyLock?"),
        ("renamed:MyLock", "renamed.py has no MyLock"),
        ("nine:MyLock", "there is no module nine (searched: PYTHONPATH"),
        (
            "nine.py:MyLock",
            "there is no module nine.py: name the module without .py, nine:MyLock (searched: ",
        ),
        ("package.lock:Deep", "there is no module package.lock (searched: "),
        ("mine.locks:MyLock", "there is no module mine.locks (searched: "),
        ("broken:X", "broken.py cannot be read as Python: "),
    ],
)
def test_a_missing_class_is_named_with_the_place(kind: str, why: str) -> None:
    assert why in (missing(kind) or "")
    assert not Path("it-ran").exists()


def test_a_module_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("#" * (1 << 20) + "\n")

    assert "a module is never that long" in (missing("long:X") or "")


def test_a_module_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("x = " + "-" * 200_000 + "1\n")

    assert "deep.py cannot be read as Python: " in (missing("deep:X") or "")
