"""The form of the results file: its tables, and how a file of an earlier version gets them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from harness.core.errors import ConfigurationError

_MIGRATIONS = (
    """
    CREATE TABLE nights (
        id INTEGER PRIMARY KEY,
        campaign TEXT NOT NULL,
        folder TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,
        version TEXT NOT NULL,
        commit_id TEXT
    );
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        night INTEGER NOT NULL REFERENCES nights,
        cell TEXT NOT NULL,
        repeat INTEGER NOT NULL,
        reproduction INTEGER NOT NULL,
        seed TEXT NOT NULL,
        started TEXT NOT NULL,
        seconds REAL NOT NULL,
        outcome TEXT NOT NULL,
        verdict TEXT,
        fingerprint TEXT,
        folder TEXT,
        history BLOB,
        commits BLOB,
        UNIQUE (night, cell, repeat, reproduction)
    );
    CREATE INDEX runs_of_cell ON runs (cell, started);
    CREATE INDEX runs_of_fingerprint ON runs (fingerprint) WHERE fingerprint IS NOT NULL;
    """,
    """
    CREATE TABLE seeds (
        fingerprint TEXT PRIMARY KEY,
        cell TEXT NOT NULL,
        seed TEXT NOT NULL,
        seconds REAL NOT NULL,
        replay TEXT NOT NULL,
        target TEXT NOT NULL,
        first_seen TEXT NOT NULL,
        last_seen TEXT NOT NULL,
        failed INTEGER NOT NULL,
        passed INTEGER NOT NULL
    );
    CREATE INDEX seeds_of_cell ON seeds (cell);
    """,
    """
    ALTER TABLE nights ADD COLUMN shard TEXT NOT NULL DEFAULT '';
    """,
    """
    ALTER TABLE runs ADD COLUMN anomalies TEXT;
    """,
    """
    ALTER TABLE seeds ADD COLUMN words TEXT;
    """,
)
"""Each migrates the file from its number to the next, and is never edited later."""


def migrate(database: sqlite3.Connection, file: Path) -> None:
    """Bring a file to the form of this version, which a new file gets as well.

    Raises ConfigurationError if it was written by a later version or by another program, and sqlite3.Error.
    """
    version = _version(database, file)
    if version == len(_MIGRATIONS):
        _check_form(database, version, file)
        return
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("BEGIN IMMEDIATE")
    version = _version(database, file)  # another process may have been first
    _check_form(database, version, file)
    _apply(database, version)
    database.execute("COMMIT")


def _apply(database: sqlite3.Connection, since: int, upto: int | None = None) -> None:
    for number, statements in enumerate(_MIGRATIONS[since:upto], start=since + 1):
        for statement in filter(str.strip, statements.split(";")):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {number}")


def _check_form(database: sqlite3.Connection, version: int, file: Path) -> None:
    """Raise ConfigurationError unless all tables and indexes are as the migrations make them.

    One made by hand may have a column, a check or an index by an expression that takes for ever.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        _apply(made, 0, version)
        if _form(database) != _form(made):
            raise ConfigurationError(f"{file}: is not a file of Fencepost: its tables have another form")


def _form(database: sqlite3.Connection) -> list[tuple[str, ...]]:
    rows = database.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY name")
    return [(*names, " ".join(statement.split())) for *names, statement in rows]


def _version(database: sqlite3.Connection, file: Path) -> int:
    """Return the form of a file; 0 for an empty one."""
    (version, tables, ours, others) = database.execute(
        "SELECT (SELECT user_version FROM pragma_user_version), count(*), total(name = 'nights'),"
        " total(type NOT IN ('table', 'index')) FROM sqlite_master"
    ).fetchone()  # in one statement, because another process may be about to create them
    if version > len(_MIGRATIONS):
        raise ConfigurationError(
            f"{file}: was written by a later version of Fencepost (schema {version}; this one knows"
            f" {len(_MIGRATIONS)})"
        )
    if bool(tables) != bool(version) or bool(ours) != bool(version) or others:  # views could never end
        raise ConfigurationError(f"{file}: is not a file of Fencepost: another program wrote it")
    return int(version)
