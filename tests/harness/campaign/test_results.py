"""The results of all nights: remembered once, also by several writers, and across versions."""

from __future__ import annotations

import sqlite3
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from harness.campaign.night import Night
from harness.campaign.replay import Replay
from harness.campaign.results import Results, StoredRun
from harness.campaign.status import RunOutcome
from harness.core.errors import ConfigurationError
from tests.support.campaign_runs import job, plan, stored

NIGHTS = ("2026-11-20T03:00:00+00:00", "2026-11-21T03:00:00+00:00", "2026-11-22T03:00:00+00:00")


def night(folder: Path, started: str) -> Night:
    return Night(folder, plan(job(), started=started))


def row(
    started: str, outcome: RunOutcome = RunOutcome.PASSED, *, seconds: float = 20.0, reproduction: int = 0
) -> StoredRun:
    return stored(outcome=outcome, started=started, seconds=seconds, reproduction=reproduction, seed=2**64)


def test_a_night_is_compared_with_those_before_it(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    for number, (started, outcome) in enumerate(
        zip(NIGHTS, (RunOutcome.FAILED, RunOutcome.PASSED, RunOutcome.UNKNOWN), strict=True)
    ):
        results.add(night(tmp_path / str(number), started), [row(started, outcome, seconds=10.0 * number)])

    assert results.outcomes(before=NIGHTS[2]) == {"a": [RunOutcome.FAILED, RunOutcome.PASSED]}
    past = results.past(before=NIGHTS[1])["a"]
    assert (past.last_run, past.failed_last, past.seconds) == (NIGHTS[0], True, 0.0)


def test_a_merged_night_replaces_the_runs_of_its_shards(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    shards = [
        Night(tmp_path / f"{part}", plan(job(repeat=part), started=NIGHTS[0], shard=f"{part}/2"))
        for part in (1, 2)
    ]
    rows = [replace(row(NIGHTS[0]), repeat=part) for part in (1, 2)]
    for shard, own in zip(shards, rows, strict=True):
        results.add(shard, [own])

    results.add(night(tmp_path / "merged", NIGHTS[0]), [replace(each, folder="merged") for each in rows])
    results.add(shards[0], rows[:1])

    assert results.outcomes(before=NIGHTS[1]) == {"a": [RunOutcome.PASSED, RunOutcome.PASSED]}
    (*others, newest) = results.recent("nightly", before=NIGHTS[1], nights=1)
    assert [each.folder for each in (*others, newest)] == ["merged", "merged"]


def test_a_reproduction_is_kept_and_not_compared(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    results.add(night(tmp_path, NIGHTS[0]), [row(NIGHTS[0], RunOutcome.FAILED, reproduction=1)])

    assert results.outcomes(before=NIGHTS[1]) == {}


def test_a_reproduction_is_not_counted_as_a_failure(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    failed = replace(
        row(NIGHTS[0], RunOutcome.FAILED),
        fingerprint="4-0123456789ab",
        replay=Replay(target="/t.toml", seed=7),
    )
    again = [replace(failed, reproduction=1), replace(row(NIGHTS[0]), reproduction=2)]
    other = replace(failed, reproduction=3, fingerprint="4-ba9876543210")

    results.add(night(tmp_path, NIGHTS[0]), [failed, *again, other])

    counted = {seed.fingerprint: (seed.failed, seed.passed) for seed in results.seeds()}
    assert counted == {"4-0123456789ab": (1, 0), "4-ba9876543210": (0, 0)}


def test_the_history_of_a_run_is_kept_with_it(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text("a history\n")
    results = Results(tmp_path / "nights.db")

    results.add(night(tmp_path, NIGHTS[0]), [replace(row(NIGHTS[0]), folder=str(tmp_path))])

    with closing(sqlite3.connect(tmp_path / "nights.db")) as database:
        ((history, commits),) = database.execute("SELECT history, commits FROM runs")
    assert zlib.decompress(history) == b"a history\n"
    assert commits is None


def test_several_campaigns_may_write_at_once(tmp_path: Path) -> None:
    def write(number: int) -> None:
        results = Results(tmp_path / "nights.db")
        for each in range(10):
            results.add(night(tmp_path / f"{number}-{each}", NIGHTS[0]), [row(NIGHTS[0])])

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(write, range(4)))

    assert len(Results(tmp_path / "nights.db").outcomes(before=NIGHTS[1])["a"]) == 40


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "nights.db"
    Results(file)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("PRAGMA user_version = 99")

    with pytest.raises(ConfigurationError, match="was written by a later version of Fencepost"):
        Results(file)


def test_a_file_that_is_not_a_database_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "nights.db"
    file.write_text("my notes, which are long enough to be no SQLite file at all" * 20)

    with pytest.raises(ConfigurationError, match="cannot be used for results: file is not a database"):
        Results(file)
    assert file.read_text().startswith("my notes")


@pytest.mark.parametrize("form", [0, 4])
def test_the_database_of_another_program_is_not_touched(tmp_path: Path, form: int) -> None:
    file = tmp_path / "nights.db"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE bookmarks (url TEXT)")
        database.execute(f"PRAGMA user_version = {form}")

    with pytest.raises(ConfigurationError, match="is not a file of Fencepost: another program wrote it"):
        Results(file)
    with closing(sqlite3.connect(file)) as database, database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "nights.db"
    Results(file).add(night(tmp_path, NIGHTS[0]), [row(NIGHTS[0])])
    file.write_bytes(file.read_bytes()[:8192])

    with pytest.raises(ConfigurationError, match=f"{file}: cannot be used for results: "):
        Results(file).outcomes(before=NIGHTS[1])


def test_a_file_that_cannot_be_written_is_refused_before_a_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.results.PATIENCE", 0.01)
    file = tmp_path / "nights.db"
    results = Results(file)
    results.check_writable()
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")

        with pytest.raises(ConfigurationError, match=f"{file}: cannot be used for results: .* locked"):
            results.check_writable()
