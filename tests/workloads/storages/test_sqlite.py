"""SQLite as a register: several clients, one file; what all storages share is in `every_storage/`."""

from __future__ import annotations

import subprocess
import sys
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
from workloads.client import NotApplied, Unknown
from workloads.storages import sqlite as storages


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
