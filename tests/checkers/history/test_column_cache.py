"""Columns that are kept for the next time: believed only if they are of this history, and whole."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkers.history import column_cache, reader
from checkers.history.columns import ABSENT, on_lines
from checkers.history.reader import parse, read
from checkers.history.records import History
from checkers.verdict.judge import judge
from tests.support.in_columns import read_or_error, without_times
from tests.support.simulation import Simulation


@pytest.fixture
def long_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A history that counts as long, with a line cut off."""
    monkeypatch.setattr(reader, "LONG", 0)
    path = tmp_path / "history.jsonl"
    path.write_text("".join(Simulation(seed=3).lines()) + '{"time":')
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def no_reading(*_arguments: object) -> History:
    raise AssertionError("the columns were not used")


def columns_in(cache: Path) -> Path:
    (file,) = cache.glob("*.npz")
    return file


def test_cached_columns_replace_the_history(
    long_history: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read(long_history, cache=cache)
    monkeypatch.setattr(reader, "read_long", no_reading)

    again = read(long_history, cache=cache)

    assert replace(again, operations=tuple(again.operations)) == replace(
        first, operations=tuple(first.operations)
    )
    assert without_times(judge(again)) == without_times(judge(first))


def test_columns_are_cached_only_on_request(long_history: Path) -> None:
    read(long_history)

    assert [path.name for path in long_history.parent.iterdir()] == ["history.jsonl"]


def test_a_copy_of_a_history_has_the_same_columns_under_its_own_name(
    long_history: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(long_history, cache=cache)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(long_history.read_bytes())
    monkeypatch.setattr(reader, "read_long", no_reading)

    assert read(copy, cache=cache).notices[0].startswith(f"{copy}:")


def test_columns_next_to_a_history_are_ignored(long_history: Path, cache: Path) -> None:
    """A folder that somebody sent cannot carry a verdict: not even in the very columns that we would keep."""
    whole = read(long_history, cache=cache)
    kept = columns_in(cache)
    with np.load(kept) as arrays:
        forged = dict(arrays)
    forged["token"] = forged["token"][::-1].copy()
    for name in ("columns.npz", kept.name):
        np.savez(long_history.parent / name, **forged)
    kept.unlink()

    assert tuple(read(long_history, cache=cache).operations) == tuple(whole.operations)
    assert tuple(read(long_history).operations) == tuple(whole.operations)


def test_columns_of_another_version_of_the_reader_are_not_found(
    long_history: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(long_history, cache=cache)
    monkeypatch.setattr(column_cache, "version", lambda: "0" * 64)
    header = read(long_history).header

    with long_history.open("rb") as file:
        assert column_cache.kept(cache, column_cache.digest(file), header, "h") is None


def test_columns_under_the_name_of_another_history_are_not_believed(long_history: Path, cache: Path) -> None:
    header = read(long_history, cache=cache).header
    renamed = column_cache.path_of(cache, "0" * 64)
    columns_in(cache).rename(renamed)

    assert column_cache.kept(cache, "0" * 64, header, "h") is None


def test_the_version_of_the_reader_is_that_of_its_code() -> None:
    assert re.fullmatch("[0-9a-f]{64}", column_cache.version())


def test_columns_that_are_packed_are_not_unpacked(long_history: Path, cache: Path) -> None:
    whole = read(long_history, cache=cache)
    kept = columns_in(cache)
    with np.load(kept) as arrays:
        bomb = dict(arrays)
    np.savez_compressed(kept, **(bomb | {"ttl": np.zeros(1 << 24, dtype=np.int64)}))
    with long_history.open("rb") as file:
        of = column_cache.digest(file)

    assert kept.stat().st_size < 1 << 20
    assert column_cache.kept(cache, of, whole.header, "h") is None
    assert tuple(read(long_history, cache=cache).operations) == tuple(whole.operations)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_regular_file_is_read_as_columns(long_history: Path, cache: Path, kind: str) -> None:
    whole = read(long_history, cache=cache)
    kept = columns_in(cache)
    moved = kept.rename(cache / "moved")
    match kind:
        case "link":
            kept.symlink_to(moved)
        case "pipe":
            os.mkfifo(kept)
        case "folder":
            kept.mkdir()
    with long_history.open("rb") as file:
        of = column_cache.digest(file)

    assert column_cache.kept(cache, of, whole.header, "h") is None


def test_a_cache_that_cannot_be_written_to_costs_only_time(long_history: Path, tmp_path: Path) -> None:
    for nowhere in (tmp_path / "none", long_history, Path("/proc")):
        assert len(read(long_history, cache=nowhere).operations)


def test_the_columns_that_were_not_used_for_longest_go_first(cache: Path) -> None:
    for day, name in enumerate("abcd"):
        (cache / f"{name}.npz").write_bytes(b"x" * 100)
        os.utime(cache / f"{name}.npz", (day, day))
    (cache / ".left.new").write_bytes(b"x")
    os.utime(cache / ".left.new", (0, 0))

    column_cache.trim(cache, 250)

    assert sorted(path.name for path in cache.iterdir()) == ["c.npz", "d.npz"]


def test_columns_that_are_used_are_not_the_oldest(long_history: Path, cache: Path) -> None:
    read(long_history, cache=cache)
    os.utime(columns_in(cache), (0, 0))

    read(long_history, cache=cache)

    assert columns_in(cache).stat().st_mtime > 0


def test_columns_of_another_history_are_not_believed(long_history: Path, cache: Path) -> None:
    read(long_history, cache=cache)
    changed = long_history.read_text().replace('"type":"ok"', '"type":"info"').replace('"ok"', '"fail"', 1)
    os_times = long_history.stat()
    long_history.write_text(changed)
    os.utime(long_history, ns=(os_times.st_atime_ns, os_times.st_mtime_ns))

    found = read(long_history, cache=cache)

    assert replace(found, operations=tuple(found.operations)) == read_or_error(long_history)


def test_damaged_columns_are_not_believed(long_history: Path, cache: Path) -> None:
    whole = read(long_history, cache=cache)
    file = columns_in(cache)
    kept = file.read_bytes()
    rng = random.Random(1)
    for _ in range(60):
        damaged = bytearray(kept)
        match rng.randrange(3):
            case 0:
                damaged = damaged[: rng.randrange(len(kept))]
            case 1:
                damaged[rng.randrange(len(kept))] ^= 1 << rng.randrange(8)
            case 2:
                at = rng.randrange(len(kept))
                damaged[at : at + 100] = rng.randbytes(rng.randrange(200))
        file.write_bytes(damaged)

        assert tuple(read(long_history, cache=cache).operations) == tuple(whole.operations)


def test_columns_whose_numbers_are_beyond_their_tables_are_not_believed(
    long_history: Path, cache: Path
) -> None:
    header = read(long_history, cache=cache).header
    file = columns_in(cache)
    of = file.name.partition("-")[0]
    with np.load(file) as arrays:
        kept = dict(arrays)
    for name, array in kept.items():
        for wrong in (array[:-1], array + 100, array - 100, array.astype(np.float64), array[None]):
            np.savez(file, **(kept | {name: wrong}))
            found = column_cache.kept(cache, of, header, "h")
            if found is not None:
                tuple(found.operations)
                assert name not in {"f", "outcome", "resource", "value"}


def test_operations_are_found_by_their_lines(long_history: Path) -> None:
    columns, plain = read(long_history).operations, parse(long_history.read_bytes().splitlines(keepends=True))

    for numbers in ([], [2], [5, 6, 7], [10**9]):
        assert on_lines(columns, numbers) == on_lines(plain.operations, numbers)


def crafted(name: str, columns: dict[str, np.ndarray], rng: random.Random) -> None:
    """Change one field of one operation to something that no recorder writes there."""
    column = columns[name]
    row = rng.randrange(len(column))
    limits = np.iinfo(np.int64)
    column[row] = rng.choice([-5, 0, 1, 1 << 61, limits.min, limits.max, column.min(), column.max()])


def test_crafted_columns_are_refused_or_still_a_history(long_history: Path, cache: Path) -> None:
    whole = read(long_history, cache=cache)
    file = columns_in(cache)
    kept = dict(np.load(file))
    refused = 0
    for seed in range(60):
        rng = random.Random(seed)
        columns = {name: array.copy() for name, array in kept.items()}
        name = rng.choice(
            ["called", "returned", "learned", "invoked_line", "completed_line", "process", "attempt"]
        )
        crafted(name, columns, rng)
        np.savez(file, **columns)

        found = read(long_history, cache=cache)

        refused += tuple(found.operations) == tuple(whole.operations)
        judge(found)
    assert refused > 40


def event_line(**fields: Any) -> str:
    return json.dumps({"process": 0, "type": "invoke", "f": "read", "resource": "r0", "time": 1} | fields)


@pytest.fixture
def kept_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The columns of a history of one write."""
    monkeypatch.setattr(reader, "LONG", 0)
    write = {"f": "write", "token": 1, "value": "v"}
    lines = [
        {"fencepost": 1, "target": "t"},
        json.loads(event_line(**write)),
        json.loads(event_line(**write, time=2, type="ok")),
    ]
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    header = read(path, cache=tmp_path).header
    (file,) = tmp_path.glob("*.npz")
    assert column_cache.kept(tmp_path, file.name.partition("-")[0], header, "h") is not None
    return file


@pytest.mark.parametrize(
    ("name", "number"),
    [("resource", ABSENT), ("value", ABSENT), ("resource", 1), ("owner", 0), ("error", 1), ("f", 8)],
)
def test_kept_columns_with_a_meaningless_number_are_not_believed(
    kept_columns: Path, name: str, number: int
) -> None:
    with np.load(kept_columns) as arrays:
        kept = dict(arrays)
    kept[name] = np.full_like(kept[name], number)
    np.savez(kept_columns, **kept)

    digest = kept_columns.name.partition("-")[0]
    header = read(kept_columns.with_name("history.jsonl")).header
    assert column_cache.kept(kept_columns.parent, digest, header, "h") is None


class Mischief:
    """Makes a folder where somebody unpickles it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self._folder),)


def test_no_file_next_to_a_history_is_executed(two_registers: Path) -> None:
    cache = two_registers.parent
    header = read(two_registers, cache=cache).header
    (file,) = cache.glob("*.npz")
    with np.load(file) as arrays:
        kept = dict(arrays)
    made = two_registers.parent / "made"
    np.savez(file, **(kept | {"f": np.array([Mischief(made)], dtype=object)}))

    assert column_cache.kept(cache, file.name.partition("-")[0], header, "h") is None
    assert not made.exists()
