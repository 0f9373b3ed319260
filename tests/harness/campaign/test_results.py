"""The results of all nights: remembered once, by several writers and across versions, and judged again."""

import re
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
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import job, plan, stored
from tests.support.command import fencepost
from tests.support.recorded_runs import Unpack

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


def test_an_unwritable_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.campaign.results.PATIENCE", 0.01)
    file = tmp_path / "nights.db"
    results = Results(file)
    results.check_writable()
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")

        with pytest.raises(ConfigurationError, match=f"{file}: cannot be used for results: .* locked"):
            results.check_writable()


STARTED = "2026-11-22T03:00:00+00:00"


@pytest.fixture
def database(recorded_run: Unpack, tmp_path: Path) -> Path:
    """Two stored runs."""
    file = tmp_path / "nights.db"
    rows = [
        stored(name, started=STARTED, verdict=verdict, folder=str(recorded_run(name)))
        for name, verdict in (("etcd-postgres", "valid"), ("check-then-write", "invalid"))
    ]
    Results(file).add(Night(tmp_path, plan(job())), rows)
    return file


def change(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as changed, changed:
        for statement in statements:
            changed.execute(statement)


@pytest.mark.parametrize("older", [(), ("UPDATE runs SET fingerprint = '000000000000'",)])
def test_unchanged_verdicts_are_counted(database: Path, tmp_path: Path, older: tuple[str, ...]) -> None:
    """Fingerprints of an earlier version are not compared."""
    change(database, *older)

    done = fencepost(tmp_path, "campaign", "recheck", "--history", database)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    assert done.stdout == "2 of 2 runs are unchanged\n"


def test_each_verdict_that_changed_is_named_and_the_old_one_kept(database: Path, tmp_path: Path) -> None:
    change(database, "UPDATE runs SET verdict = 'valid'")

    done = fencepost(tmp_path, "campaign", "recheck", "--history", database)

    assert done.returncode == ExitCode.VIOLATION, done.stderr
    assert done.stdout.splitlines() == [
        f"check-then-write, seed 7, {STARTED}: invalid, was valid",
        "1 of 2 runs are unchanged",
    ]
    with closing(sqlite3.connect(database)) as kept:
        assert kept.execute("SELECT DISTINCT verdict FROM runs").fetchall() == [("valid",)]


def test_other_anomalies_and_fingerprints_are_changes_too(database: Path, tmp_path: Path) -> None:
    change(
        database,
        """UPDATE runs SET anomalies = '{"stale-write": 1}', fingerprint = '4-000000000000'"""
        " WHERE cell = 'check-then-write'",
        "UPDATE runs SET anomalies = '{}', fingerprint = NULL WHERE cell = 'etcd-postgres'",
    )

    done = fencepost(tmp_path, "campaign", "recheck", "--history", database)

    assert done.returncode == ExitCode.VIOLATION, done.stderr
    assert re.search(
        r"^check-then-write, seed 7, \S+: stale-write ×\d+.*, was stale-write ×1;"
        r" fingerprint 4-[0-9a-f]{12}, was 4-000000000000$",
        done.stdout,
        re.MULTILINE,
    )


def test_a_history_that_is_refused_now_has_changed(database: Path, tmp_path: Path) -> None:
    change(
        database,
        "UPDATE runs SET history = (SELECT commits FROM runs WHERE cell = 'etcd-postgres')"
        " WHERE cell = 'etcd-postgres'",
    )

    done = fencepost(tmp_path, "campaign", "recheck", "--history", database)

    assert done.returncode == ExitCode.VIOLATION
    assert "etcd-postgres, seed 7" in done.stdout
    assert "cannot be read: " in done.stdout


def test_without_stored_histories_nothing_is_judged(tmp_path: Path) -> None:
    Results(tmp_path / "nights.db")

    done = fencepost(tmp_path, "campaign", "recheck", "--history", "nights.db")

    assert done.returncode == ExitCode.NOTHING_SELECTED
    assert "has no stored history" in done.stderr
