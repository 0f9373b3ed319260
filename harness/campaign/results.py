"""The results of every run of every night, in one SQLite file that several campaigns may write to.

The file may have been made by hand, or by somebody else: what is read from it is checked.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import statistics
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from checkers.history import files
from checkers.text.printable import as_json
from harness.campaign.night import Night
from harness.campaign.replay import Replay
from harness.campaign.results_schema import migrate
from harness.campaign.schedule import Past
from harness.campaign.status import WINDOW, RunOutcome
from harness.campaign.stored import MOST_STORED, EarlierRun, Remembered, Seed, Stored, T, checked
from harness.core.errors import ConfigurationError
from harness.core.grouping import grouped
from harness.files import received
from harness.files.atomic_files import PRIVATE

PATIENCE = 30.0  # s; for another campaign that is writing
_NOT_WRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_MOST_IN_ROW = 3 * MOST_STORED  # bytes: a history, its order of writes, and the rest
_MOST_FILE = 1 << 40  # bytes
_OTHERS_WRITE = 0o022
_MAGIC = bytes.fromhex("d9d505f920a163d7")  # at the end of a journal that names another file


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """One run as it is stored."""

    cell: str
    repeat: int
    reproduction: int
    seed: int
    started: str
    seconds: float
    outcome: RunOutcome
    verdict: str | None
    fingerprint: str | None
    folder: str | None
    anomalies: Mapping[str, int] | None = None  # how many of each name were found; None: not known
    replay: Replay | None = None  # what repeats a failure
    target: str = ""  # the text of its target file


class Results:
    """The file; safe for several writers, and migrated to this version's form when it is opened."""

    def __init__(self, file: Path) -> None:
        self._file = file
        _create(file)
        with self._connected() as database:
            migrate(database, file)

    @property
    def exposed(self) -> str:
        """A sentence if other users can change the results; else ""."""
        mode = stat.S_IMODE(self._file.stat().st_mode)
        if not mode & _OTHERS_WRITE:
            return ""
        return f"{self._file}: other users can change these results (mode {mode:04o}): chmod go-w it"

    def check_writable(self) -> None:
        """Raise ConfigurationError if no results can be added; waits for other writers, as `add` does."""
        with self._connected() as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")

    def add(self, night: Night, rows: Sequence[StoredRun]) -> None:
        """Add the runs of a night, each once; a merged night replaces what its shards added."""
        plan, folder = night.plan, str(night.path)
        with self._connected() as database, database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(
                "INSERT OR IGNORE INTO nights (campaign, folder, started, version, commit_id, shard)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (plan.campaign, folder, plan.started, plan.fencepost, plan.git_commit, plan.shard),
            )
            (number,) = database.execute("SELECT id FROM nights WHERE folder = ?", (folder,)).fetchone()
            for row in rows:
                values = _values(number, row)
                known = database.execute(
                    _FIND, values | {"campaign": plan.campaign, "shard": plan.shard}
                ).fetchone()
                if known is None:
                    database.execute(_INSERT, values)
                    _count_seeds(database, row)
                elif not plan.shard:
                    number_of_it, was, shape = known
                    database.execute(_TAKE_OVER, values | {"known": number_of_it})
                    if (was, shape) != (row.outcome, row.fingerprint):  # judged again, with a difference
                        _count_seeds(database, row)

    def seeds(self) -> tuple[Seed, ...]:
        """Return the fastest failing seed of every fingerprint, the newest failure first."""
        query = "SELECT fingerprint, cell, seconds, words, replay, target, failed, passed FROM seeds"
        return tuple(self._rows(Seed, f"{query} ORDER BY last_seen DESC, fingerprint"))

    def fingerprints(self, *, before: str) -> frozenset[str]:
        """Return the fingerprints of failures that occurred before a moment."""
        with self._connected() as database:
            rows = database.execute("SELECT fingerprint FROM seeds WHERE first_seen < ?", (before,))
            return frozenset(str(fingerprint) for (fingerprint,) in rows)

    def stored(self) -> Iterator[Stored]:
        """Return every run whose history was kept, the oldest first."""
        return self._rows(
            Stored,
            "SELECT cell, seed, started, outcome, verdict, fingerprint, anomalies, history, commits"
            " FROM runs WHERE history IS NOT NULL AND verdict IS NOT NULL ORDER BY started, id",
        )

    def outcomes(self, *, before: str) -> Mapping[str, list[RunOutcome]]:
        """How the runs of each cell ended in nights that began before a moment, the oldest first."""
        return {cell: [run.outcome for run in ended] for cell, ended in self._ended(before).items()}

    def past(self, *, before: str) -> Mapping[str, Past]:
        """What the schedule of another night needs to know about each cell."""
        return {
            cell: Past(
                seconds=statistics.median(run.seconds for run in ended[-WINDOW:]),
                last_run=ended[-1].started,
                failed_last=ended[-1].outcome is RunOutcome.FAILED,
            )
            for cell, ended in self._ended(before).items()
        }

    def recent(self, campaign: str, *, before: str, nights: int) -> list[Remembered]:
        """Return the runs of the last nights of a campaign that began before a moment, the oldest first."""
        found = self._rows(
            Remembered,
            "SELECT nights.started, cell, repeat, seed, seconds, outcome, fingerprint, runs.folder"
            " FROM runs JOIN nights ON nights.id = night WHERE reproduction = 0 AND night IN"
            " (SELECT id FROM nights WHERE campaign = ? AND started < ?"
            " AND EXISTS (SELECT 1 FROM runs WHERE night = nights.id) ORDER BY started DESC LIMIT ?)"
            " ORDER BY nights.started, runs.id",
            (campaign, before, nights),
        )
        return list(found)

    def _ended(self, before: str) -> Mapping[str, list[EarlierRun]]:
        """The runs of each cell in nights that began before a moment, the oldest first."""
        rows = self._rows(
            EarlierRun,
            "SELECT cell, seconds, runs.started, outcome FROM runs JOIN nights ON nights.id = night"
            " WHERE nights.started < ? AND reproduction = 0 ORDER BY runs.started, runs.id",
            (before,),
        )
        return grouped((run.cell, run) for run in rows)

    def _rows(self, kind: type[T], query: str, values: tuple[object, ...] = ()) -> Iterator[T]:
        with self._connected() as database:
            yield from checked(self._file, database.execute(query, values), kind)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        _check_side_files(Path(os.path.realpath(self._file)))
        try:
            with closing(sqlite3.connect(self._file, timeout=PATIENCE, isolation_level=None)) as database:
                database.execute("PRAGMA foreign_keys = ON")
                database.execute("PRAGMA trusted_schema = OFF")
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_IN_ROW)
                yield database
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its extension
            remedy = "; the file and its folder must be writable" if code in _NOT_WRITABLE else ""
            raise ConfigurationError(f"{self._file}: cannot be used for results: {error}{remedy}") from None


_COLUMNS = (
    "night",
    *(name for name in StoredRun.__dataclass_fields__ if name not in {"replay", "target"}),
    "history",
    "commits",
)
_INSERT = (
    f"INSERT INTO runs ({', '.join(_COLUMNS)})"  # noqa: S608 (our own names)
    f" VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
)
_FIND = """
SELECT runs.id, outcome, fingerprint FROM runs JOIN nights ON nights.id = night
    WHERE campaign = :campaign AND cell = :cell
    AND runs.started = :started AND seed = :seed AND repeat = :repeat AND reproduction = :reproduction
    AND (night = :night OR (shard = '') != (:shard = ''))
"""
"""The run itself, or as a shard or the night that joins shards has added it."""
_TAKE_OVER = """
UPDATE runs SET night = :night, folder = :folder, outcome = :outcome, verdict = :verdict,
    fingerprint = :fingerprint, anomalies = :anomalies,
    history = coalesce(:history, history), commits = coalesce(:commits, commits)
WHERE id = :known
"""
"""The histories of shards are judged again when they are joined."""


def _values(night: int, row: StoredRun) -> dict[str, object]:
    kept = Path(row.folder) if row.folder else None
    return asdict(replace(row, replay=None)) | {
        "night": night,
        "seed": str(row.seed),  # SQLite's integers end at 2^63 - 1
        "outcome": row.outcome.value,
        "anomalies": None if row.anomalies is None else json.dumps(row.anomalies),
        "history": _compressed(kept, "history.jsonl"),
        "commits": _compressed(kept, "commits.jsonl"),
    }


def _compressed(folder: Path | None, name: str) -> bytes | None:
    if folder is None or received.size_of(folder, name) > MOST_STORED:
        return None
    content = received.read(folder, name, most=MOST_STORED)
    return None if content is None else zlib.compress(content)


def _create(file: Path) -> None:
    """Create an empty file that only this user can read, unless it exists.

    Raises ConfigurationError for a pipe or a device, which SQLite would wait for.
    """
    with suppress(OSError):  # `_connected` says why it cannot be used
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    if file.exists():
        files.check(file.stat(), str(file), _MOST_FILE)


def _check_side_files(file: Path) -> None:
    """Check the files that SQLite keeps next to this one, which it opens and removes by itself.

    A journal that is left of a transaction on several databases names a file at its end, and SQLite
    removes that one too; we have one database (https://www.sqlite.org/fileformat2.html, 3).

    Raises HistoryError unless they are regular files; ConfigurationError for such a journal.
    """
    for suffix in ("-journal", "-wal", "-shm"):
        path = file.with_name(f"{file.name}{suffix}")
        if not os.path.lexists(path):
            continue
        with suppress(FileNotFoundError):  # another process has just removed it
            files.check(path.lstat(), str(path), _MOST_FILE)
            if suffix == "-journal":
                with path.open("rb") as journal:
                    journal.seek(-min(len(_MAGIC), path.stat().st_size), os.SEEK_END)
                    if journal.read() == _MAGIC:
                        raise ConfigurationError(
                            f"{path}: names another file, which SQLite would remove; no campaign wrote it:"
                            " remove this journal"
                        )


def _count_seeds(database: sqlite3.Connection, row: StoredRun) -> None:
    """Keep the fastest failing seed of each fingerprint, and count the runs of its cell since.

    A repetition is no run of its own, but may fail in another way, or faster.
    """
    words = None if row.replay is None else as_json(msgspec.to_builtins(row.replay))
    counted = int(not row.reproduction)
    values = asdict(replace(row, replay=None)) | {"seed": str(row.seed), "words": words, "counted": counted}
    if row.outcome is RunOutcome.PASSED:
        database.execute("UPDATE seeds SET passed = passed + :counted WHERE cell = :cell", values)
    elif row.fingerprint and row.replay:
        database.execute(_KEEP_SEED, values)


_KEEP_SEED = """
INSERT INTO seeds VALUES
    (:fingerprint, :cell, :seed, :seconds, '', :target, :started, :started, :counted, 0, :words)
ON CONFLICT (fingerprint) DO UPDATE SET
    failed = failed + :counted,
    last_seen = max(last_seen, excluded.last_seen),
    seed = iif(excluded.seconds < seconds, excluded.seed, seed),
    replay = iif(excluded.seconds < seconds, '', replay),
    words = iif(excluded.seconds < seconds, excluded.words, words),
    target = iif(excluded.seconds < seconds, excluded.target, target),
    seconds = min(seconds, excluded.seconds)
"""
