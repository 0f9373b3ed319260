"""Where the columns of long histories are kept: only where nobody else can have put any."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from command import fencepost
from simulation import Simulation

from checkers import history
from checkers.reading import event_columns
from harness import column_folder
from harness.recheck import recheck

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders of other users")


@pytest.fixture(autouse=True)
def caches(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "fencepost" / "columns"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The folder of a run that is wrong, and whose history counts as long."""
    monkeypatch.setattr(history, "LONG", 0)
    folder = tmp_path / "run"
    (folder / "events").mkdir(parents=True)
    (folder / "history.jsonl").write_text("".join(Simulation(seed=3).lines()))
    return folder


def without_times(document):
    return {name: document[name] for name in ("verdict", "anomalies", "findings", "coverage")}


def never(*_arguments):
    raise AssertionError("it was read line by line")


def test_a_long_history_is_read_but_once(run, caches, monkeypatch):
    first = recheck(run).document
    assert [file.suffix for file in caches.iterdir()] == [".npz"]
    monkeypatch.setattr(history, "read_events", never)

    assert without_times(recheck(run).document) == without_times(first)


def test_nothing_is_kept_in_a_runs_folder(run):
    recheck(run)

    assert not [path for path in run.rglob("*") if "npz" in path.name]


def test_a_received_folder_carries_no_columns(run, caches, tmp_path, monkeypatch):
    """Neither under the name of old, nor with the name that they would have in the cache."""
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
    once = event_columns.read_events
    monkeypatch.setattr(history, "read_events", lambda *given: read.append(1) or once(*given))

    assert without_times(recheck(received).document) == true
    assert read


@as_root
def test_the_folder_of_another_user_is_not_used(run, caches):
    caches.mkdir(parents=True)
    os.chown(caches, 65534, -1)

    assert recheck(run).document["verdict"]
    assert list(caches.iterdir()) == []
    assert "it belongs to user 65534" in str(column_folder.why_not())


def test_a_folder_behind_a_link_is_not_used(run, caches, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    caches.parent.mkdir(parents=True)
    caches.symlink_to(tmp_path / "elsewhere")

    recheck(run)

    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "it is a symbolic link" in str(column_folder.why_not())


def test_a_folder_that_others_may_write_to_is_not_used(run, caches):
    caches.mkdir(parents=True)
    caches.chmod(0o777)

    recheck(run)

    assert list(caches.iterdir()) == []
    assert "others may write to it (mode 0777)" in str(column_folder.why_not())


def test_a_folder_that_is_named_from_the_current_one_is_not_used(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "run")

    recheck(run)

    assert not (run / "fencepost").exists()
    assert "is not absolute" in str(column_folder.why_not())


def test_where_nothing_can_be_kept_the_verdict_is_the_same(run, monkeypatch):
    whole = without_times(recheck(run).document)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")

    assert without_times(recheck(run).document) == whole


def test_the_folder_and_what_is_in_it_are_private(run, caches):
    old = os.umask(0)
    try:
        recheck(run)
    finally:
        os.umask(old)

    assert caches.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in caches.iterdir()] == [0o600]


def test_doctor_names_it_and_clean_empties_it(run, caches, tmp_path):
    recheck(run)

    seen = next(line for line in fencepost(tmp_path, "doctor").stdout.splitlines() if "column" in line)
    done = fencepost(tmp_path, "clean", "--columns")

    assert str(caches) in seen
    assert str(caches) in done.stderr
    assert list(caches.iterdir()) == []
