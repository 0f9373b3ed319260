"""SQLite as a fenced register: several clients, one file."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil
import pytest

from harness.nemesis.pause import pause
from tests.support import systems
from tests.support.systems import nothing, storage_clients, storage_settings
from tests.support.waiting import SOON
from workloads.client import NotApplied, Stale, Unknown
from workloads.storages import sqlite as storages

POLICIES = ["strict", "inclusive"]


@pytest.fixture
def file(tmp_path: Path) -> Any:
    path = str(tmp_path / "a name with spaces?.db")
    storages.set_up(storage_settings("sqlite", [path]), ["r0", "r1"])
    return path


@pytest.fixture
def open_storage(file: Any) -> Iterator[Any]:
    with storage_clients("sqlite", [file], fencing="conditional-update") as open_one:
        yield open_one


@pytest.fixture
def commits_of(file: Any) -> Any:
    return lambda resource="r0": systems.commits_of("sqlite", [file], resource)


@pytest.fixture
def blocker(file: Any) -> Iterator[Popen[bytes]]:
    """Another program that is stopped while it holds the file's write lock."""
    begin = (
        "import sqlite3, sys; connection = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "connection.execute('BEGIN IMMEDIATE'); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", begin, file]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pause(psutil.Process(process.pid), "blocker"):
            yield process


@pytest.mark.parametrize("policy", POLICIES)
def test_the_condition_rejects_an_older_token(open_storage: Any, commits_of: Any, policy: str) -> None:
    storage = open_storage(policy=policy)
    storage.write("r0", 10, "new", nothing)

    with pytest.raises(Stale):
        storage.write("r0", 9, "old", nothing)

    assert storage.read("r0") == ("new", 10)
    assert commits_of() == [(10, "new")]


def test_an_unfenced_storage_accepts_an_older_token(open_storage: Any, commits_of: Any) -> None:
    storage = open_storage("none")
    storage.write("r0", 10, "new", nothing)
    storage.write("r0", 9, "old", nothing)

    assert storage.read("r0") == ("old", 9)
    assert commits_of() == [(10, "new"), (9, "old")]


def test_an_equal_token_is_stale_only_under_the_policy_strict(open_storage: Any) -> None:
    open_storage().write("r0", 7, "first", nothing)

    with pytest.raises(Stale):
        open_storage().write("r0", 7, "second", nothing)
    open_storage(policy="inclusive").write("r0", 7, "third", nothing)


def test_tokens_are_numbers_of_64_bits(open_storage: Any) -> None:
    storage = open_storage()
    storage.write("r0", 2**53, "lower", nothing)
    storage.write("r0", 2**53 + 1, "higher", nothing)
    storage.write("r0", 2**63 - 1, "highest", nothing)

    assert storage.read("r0") == ("highest", 2**63 - 1)


@pytest.mark.parametrize("policy", ["strict", "inclusive"])
def test_the_first_token_of_a_resource_may_be_0(open_storage: Any, policy: str) -> None:
    storage = open_storage(policy=policy)

    storage.write("r1", 0, "first", nothing)

    assert storage.read("r1") == ("first", 0)


@pytest.mark.parametrize("fencing", ["none", "conditional-update"])
def test_a_missing_row_is_neither_a_success_nor_stale(
    open_storage: Any, commits_of: Any, fencing: str
) -> None:
    with pytest.raises(NotApplied, match="no row"):
        open_storage(fencing).write("nowhere", 1, "lost", nothing)

    assert open_storage().read("nowhere") == (None, 0)
    assert commits_of("nowhere") == []


@pytest.mark.parametrize("policy", POLICIES)
def test_writers_that_race_commit_in_token_order(file: Any, commits_of: Any, policy: str) -> None:
    tokens = random.Random(1).sample(range(1, 201), 200)
    settings = storage_settings("sqlite", [file], fencing="conditional-update", policy=policy, timeout=30)

    def write(number: Any) -> None:
        storage = storages.connect(settings)  # a connection stays in its thread
        for token in tokens[number::4]:
            try:
                storage.write("r0", token, f"v{token}", nothing)
            except Stale:
                continue
        storage.reconnect()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    committed = [token for token, _ in commits_of()]
    assert committed == sorted(committed)
    assert committed[-1] == 200


@pytest.mark.usefixtures("blocker")
@pytest.mark.parametrize("call", ["write", "fence"])
def test_a_call_behind_a_stopped_writer_ends_at_its_deadline_not_applied(
    open_storage: Any, commits_of: Any, call: str
) -> None:
    storage = open_storage(policy="inclusive", timeout=0.3)
    called = time.monotonic()

    with pytest.raises(NotApplied, match="locked"):
        storage.write("r0", 1, "never", nothing) if call == "write" else storage.fence("r0", 1)

    assert 0.3 <= time.monotonic() - called < SOON
    assert storage.read("r0") == (None, None)
    assert commits_of() == []


def test_a_writer_stopped_before_its_commit_blocks_the_others(open_storage: Any, commits_of: Any) -> None:
    slow, other = open_storage(), open_storage(timeout=0.2)
    refused = []

    def meanwhile() -> None:
        with pytest.raises(NotApplied, match="locked"):
            other.write("r0", 2, "later", nothing)
        refused.append(other.read("r0"))

    slow.write("r0", 1, "first", meanwhile)

    assert refused == [(None, None)]
    assert commits_of() == [(1, "first")]


def test_a_fence_keeps_the_value_and_older_writers_out(open_storage: Any, commits_of: Any) -> None:
    storage = open_storage(policy="inclusive")
    storage.write("r0", 3, "kept", nothing)
    storage.fence("r0", 5)
    storage.fence("r0", 5)

    with pytest.raises(Stale):
        storage.write("r0", 4, "late", nothing)
    with pytest.raises(Stale):
        storage.fence("r0", 4)
    assert storage.read("r0") == ("kept", 3)
    storage.write("r0", 5, "own", nothing)
    assert commits_of() == [(3, "kept"), (5, systems.FENCE), (5, systems.FENCE), (5, "own")]


def test_a_write_that_is_dropped_before_its_commit_leaves_nothing(open_storage: Any, commits_of: Any) -> None:
    storage = open_storage()

    class Dropped(Exception):  # noqa: N818 - it only ends a block
        pass

    def drop() -> None:
        raise Dropped

    with pytest.raises(Dropped):
        storage.write("r0", 1, "never", drop)
    storage.reconnect()

    assert storage.read("r0") == (None, None)
    assert commits_of() == []
    open_storage().write("r0", 1, "free again", nothing)


def test_a_client_does_not_create_a_missing_file(tmp_path: Path) -> None:
    settings = storage_settings("sqlite", [str(tmp_path / "nothing.db")])

    with pytest.raises(NotApplied, match="unable to open"):
        storages.connect(settings).write("r0", 1, "never", nothing)
    with pytest.raises((NotApplied, Unknown), match="unable to open"):
        list(storages.committed(settings))
    assert not (tmp_path / "nothing.db").exists()


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, but long enough to be looked at" * 20)

    with pytest.raises(Unknown, match="not a database"):
        storages.set_up(storage_settings("sqlite", [str(path)]), ["r0"])


def test_an_unfenced_storage_accepts_writes_without_a_token(open_storage: Any, commits_of: Any) -> None:
    storage = open_storage("none")
    storage.write("r0", None, "first", nothing)
    storage.write("r0", None, "last", nothing)

    assert storage.read("r0") == ("last", None)
    assert commits_of() == [(None, "first"), (None, "last")]
