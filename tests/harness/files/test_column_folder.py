"""The cache of columns: only in a folder that no other user can write to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkers.history import reader, second_reader
from checkers.vocabulary.document import VerdictDocument
from harness.files import column_folder
from harness.run.recheck import recheck
from tests.support.command import fencepost
from tests.support.simulation import Simulation

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders of other users")


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "fencepost" / "columns"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an invalid run whose history counts as long."""
    monkeypatch.setattr(reader, "LONG", 0)
    folder = tmp_path / "run"
    (folder / "events").mkdir(parents=True)
    (folder / "history.jsonl").write_text("".join(Simulation(seed=3).lines()))
    return folder


def without_times(document: VerdictDocument) -> dict[str, Any]:
    return {name: getattr(document, name) for name in ("verdict", "anomalies", "findings", "coverage")}


def never(*_arguments: Any) -> None:
    raise AssertionError("it was read line by line")


def test_a_long_history_is_read_only_once(run: Path, caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = recheck(run).document
    assert [file.suffix for file in caches.iterdir()] == [".npz"]
    monkeypatch.setattr(reader, "read_long", never)

    assert without_times(recheck(run).document) == without_times(first)


def test_no_columns_are_cached_in_a_run_folder(run: Path) -> None:
    recheck(run)

    assert not [path for path in run.rglob("*") if "npz" in path.name]


def test_columns_in_a_received_folder_are_not_used(
    run: Path, caches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither under their former name, nor under their name in the cache."""
    true = without_times(recheck(run).document)
    (kept,) = caches.iterdir()
    with np.load(kept) as arrays:
        forged = dict(arrays)
    forged["outcome"] = np.full_like(forged["outcome"], 1)
    received = tmp_path / "received"
    shutil.copytree(run, received)
    for name in ("columns.npz", kept.name):
        np.savez(received / name, **forged)
    kept.unlink()
    read = []
    once = second_reader.read_long

    def counted(*given: Any) -> Any:
        read.append(1)
        return once(*given)

    monkeypatch.setattr(reader, "read_long", counted)

    assert without_times(recheck(received).document) == true
    assert read


@as_root
def test_another_users_folder_is_not_used(run: Path, caches: Path) -> None:
    caches.mkdir(parents=True)
    os.chown(caches, 65534, -1)

    assert recheck(run).document.verdict
    assert list(caches.iterdir()) == []
    assert "it belongs to user 65534" in str(column_folder.why_not())


def test_a_folder_behind_a_link_is_not_used(run: Path, caches: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    caches.parent.mkdir(parents=True)
    caches.symlink_to(tmp_path / "elsewhere")

    recheck(run)

    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "it is a symbolic link" in str(column_folder.why_not())


def test_a_folder_that_others_can_write_to_is_not_used(run: Path, caches: Path) -> None:
    caches.mkdir(parents=True)
    caches.chmod(0o777)

    recheck(run)

    assert list(caches.iterdir()) == []
    assert "others may write to it (mode 0777)" in str(column_folder.why_not())


def test_a_relative_folder_is_not_used(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "run")

    recheck(run)

    assert not (run / "fencepost").exists()
    assert "is not absolute" in str(column_folder.why_not())


def test_without_a_cache_the_verdict_is_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = without_times(recheck(run).document)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")

    assert without_times(recheck(run).document) == whole


def test_the_cache_folder_and_its_files_are_private(run: Path, caches: Path) -> None:
    old = os.umask(0)
    try:
        recheck(run)
    finally:
        os.umask(old)

    assert caches.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in caches.iterdir()] == [0o600]


def test_doctor_shows_the_cache_and_clean_empties_it(run: Path, caches: Path, tmp_path: Path) -> None:
    recheck(run)

    seen = next(line for line in fencepost(tmp_path, "doctor").stdout.splitlines() if "column" in line)
    done = fencepost(tmp_path, "clean", "--columns")

    assert str(caches) in seen
    assert str(caches) in done.stderr
    assert list(caches.iterdir()) == []
