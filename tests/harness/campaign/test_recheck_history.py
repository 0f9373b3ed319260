"""The stored histories of all nights are judged again, and every run that is judged differently is named."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.campaign.night import Night
from harness.campaign.results import Results
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import job, plan, stored
from tests.support.command import fencepost

STARTED = "2026-11-22T03:00:00+00:00"


@pytest.fixture
def database(recorded_run: Callable[[str], Path], tmp_path: Path) -> Path:
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


def test_unchanged_verdicts_are_counted(database: Path, tmp_path: Path) -> None:
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


def test_fingerprints_of_an_earlier_version_are_not_compared(database: Path, tmp_path: Path) -> None:
    change(database, "UPDATE runs SET fingerprint = '000000000000'")

    done = fencepost(tmp_path, "campaign", "recheck", "--history", database)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr


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
