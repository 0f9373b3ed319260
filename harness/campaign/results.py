"""The results of every run of every night, in one SQLite file that several campaigns may write to."""

from __future__ import annotations

import json
import sqlite3
import statistics
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from harness.campaign.night import Night
from harness.campaign.results_schema import migrate
from harness.campaign.schedule import Past
from harness.campaign.status import WINDOW, Outcome
from harness.core.errors import ConfigurationError

PATIENCE = 30.0  # s; for another campaign that is writing
_NOT_WRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_MOST_STORED = 16 << 20  # bytes of a history; a longer one stays in its folder only


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run as it is stored."""

    cell: str
    repeat: int
    reproduction: int
    seed: int
    started: str
    seconds: float
    outcome: Outcome
    verdict: str | None
    fingerprint: str | None
    folder: str | None
    anomalies: Mapping[str, int] | None = None  # how many of each name were found; None: not known
    replay: str | None = None  # the line that repeats a failure
    target: str = ""  # the text of its target file


@dataclass(frozen=True, slots=True)
class Seed:
    """The fastest run that failed with a fingerprint. It is kept permanently."""

    fingerprint: str
    cell: str
    seconds: float
    replay: str
    target: str  # the text of its target file
    failed: int  # runs with this fingerprint
    passed: int  # runs of the cell since the first of them


@dataclass(frozen=True, slots=True)
class Stored:
    """A run whose history was kept; `history` and `commits` are compressed, as `zlib` does."""

    cell: str
    seed: str
    started: str
    outcome: str
    verdict: str
    fingerprint: str | None
    anomalies: Mapping[str, int] | None  # None: an earlier version did not store them
    history: bytes
    commits: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One run of an earlier night."""

    night: str  # when that began, ISO 8601
    cell: str
    repeat: int
    seed: str
    seconds: float
    outcome: Outcome
    fingerprint: str | None
    folder: str | None


class Results:
    """The file; safe for several writers, and migrated to this version's form when it is opened."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._connected() as database:
            migrate(database, file)

    def check_writable(self) -> None:
        """Raise ConfigurationError if no results can be added; waits for other writers, as `add` does."""
        with self._connected() as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")

    def add(self, night: Night, rows: Sequence[Row]) -> None:
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
                    database.execute(_TAKE_OVER, values | {"known": known[0]})

    def seeds(self) -> tuple[Seed, ...]:
        """Return the fastest failing seed of every fingerprint, the newest failure first."""
        with self._connected() as database:
            rows = database.execute(
                "SELECT fingerprint, cell, seconds, replay, target, failed, passed FROM seeds"
                " ORDER BY last_seen DESC, fingerprint"
            )
            return tuple(Seed(*row) for row in rows)

    def fingerprints(self, *, before: str) -> frozenset[str]:
        """Return the fingerprints of failures that occurred before a moment."""
        with self._connected() as database:
            rows = database.execute("SELECT fingerprint FROM seeds WHERE first_seen < ?", (before,))
            return frozenset(fingerprint for (fingerprint,) in rows)

    def stored(self) -> Iterator[Stored]:
        """Return every run whose history was kept, the oldest first."""
        with self._connected() as database:
            rows = database.execute(
                "SELECT cell, seed, started, outcome, verdict, fingerprint, anomalies, history, commits"
                " FROM runs WHERE history IS NOT NULL AND verdict IS NOT NULL ORDER BY started, id"
            )
            for cell, seed, started, outcome, verdict, shape, anomalies, history, commits in rows:
                yield Stored(
                    cell=cell,
                    seed=seed,
                    started=started,
                    outcome=outcome,
                    verdict=verdict,
                    fingerprint=shape,
                    anomalies=None if anomalies is None else json.loads(anomalies),
                    history=history,
                    commits=commits,
                )

    def outcomes(self, *, before: str) -> Mapping[str, list[Outcome]]:
        """How the runs of each cell ended in nights that began before a moment, the oldest first."""
        found: dict[str, list[Outcome]] = {}
        for row in self._rows(before):
            found.setdefault(row[0], []).append(Outcome(row[3]))
        return found

    def past(self, *, before: str) -> Mapping[str, Past]:
        """What the schedule of another night needs to know about each cell."""
        runs: dict[str, list[tuple[str, float, str, str]]] = {}
        for row in self._rows(before):
            runs.setdefault(row[0], []).append(row)
        return {
            cell: Past(
                seconds=statistics.median(row[1] for row in rows[-WINDOW:]),
                last_run=rows[-1][2],
                failed_last=rows[-1][3] == Outcome.FAILED,
            )
            for cell, rows in runs.items()
        }

    def recent(self, campaign: str, *, before: str, nights: int) -> list[Remembered]:
        """Return the runs of the last nights of a campaign that began before a moment, the oldest first."""
        with self._connected() as database:
            found = database.execute(
                "SELECT nights.started, cell, repeat, seed, seconds, outcome, fingerprint, runs.folder"
                " FROM runs JOIN nights ON nights.id = night WHERE reproduction = 0 AND night IN"
                " (SELECT id FROM nights WHERE campaign = ? AND started < ?"
                " AND EXISTS (SELECT 1 FROM runs WHERE night = nights.id) ORDER BY started DESC LIMIT ?)"
                " ORDER BY nights.started, runs.id",
                (campaign, before, nights),
            ).fetchall()
        names = [field.name for field in fields(Remembered)]
        rows = (dict(zip(names, row, strict=True)) for row in found)
        return [Remembered(**row | {"outcome": Outcome(row["outcome"])}) for row in rows]

    def _rows(self, before: str) -> list[tuple[str, float, str, str]]:
        with self._connected() as database:
            return database.execute(
                "SELECT cell, seconds, runs.started, outcome FROM runs JOIN nights ON nights.id = night"
                " WHERE nights.started < ? AND reproduction = 0 ORDER BY runs.started, runs.id",
                (before,),
            ).fetchall()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file, timeout=PATIENCE, isolation_level=None)) as database:
                database.execute("PRAGMA foreign_keys = ON")
                yield database
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its extension
            remedy = "; the file and its folder must be writable" if code in _NOT_WRITABLE else ""
            raise ConfigurationError(f"{self._file}: cannot be used for results: {error}{remedy}") from None


_COLUMNS = (
    "night",
    *(name for name in Row.__dataclass_fields__ if name not in {"replay", "target"}),
    "history",
    "commits",
)
_INSERT = (
    f"INSERT INTO runs ({', '.join(_COLUMNS)})"  # noqa: S608 (our own names)
    f" VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
)
_FIND = """
SELECT runs.id FROM runs JOIN nights ON nights.id = night WHERE campaign = :campaign AND cell = :cell
    AND runs.started = :started AND seed = :seed AND repeat = :repeat AND reproduction = :reproduction
    AND (night = :night OR (shard = '') != (:shard = ''))
"""
"""The run itself, or as a shard or the night that joins shards has added it."""
_TAKE_OVER = "UPDATE runs SET night = :night, folder = :folder WHERE id = :known"


def _values(night: int, row: Row) -> dict[str, object]:
    kept = Path(row.folder) if row.folder else None
    return asdict(row) | {
        "night": night,
        "seed": str(row.seed),  # SQLite's integers end at 2^63 - 1
        "outcome": row.outcome.value,
        "anomalies": None if row.anomalies is None else json.dumps(row.anomalies),
        "history": _compressed(kept, "history.jsonl"),
        "commits": _compressed(kept, "commits.jsonl"),
    }


def _compressed(folder: Path | None, name: str) -> bytes | None:
    file = folder / name if folder else None
    if file is None or not file.is_file() or file.stat().st_size > _MOST_STORED:
        return None
    return zlib.compress(file.read_bytes())


def _count_seeds(database: sqlite3.Connection, row: Row) -> None:
    """Keep the fastest failing seed of each fingerprint, and count the runs of its cell since."""
    values = asdict(row) | {"seed": str(row.seed)}
    if row.outcome is Outcome.PASSED:
        database.execute("UPDATE seeds SET passed = passed + 1 WHERE cell = :cell", values)
    elif row.fingerprint and row.replay:
        database.execute(_KEEP_SEED, values)


_KEEP_SEED = """
INSERT INTO seeds VALUES
    (:fingerprint, :cell, :seed, :seconds, :replay, :target, :started, :started, 1, 0)
ON CONFLICT (fingerprint) DO UPDATE SET
    failed = failed + 1,
    last_seen = max(last_seen, excluded.last_seen),
    seed = iif(excluded.seconds < seconds, excluded.seed, seed),
    replay = iif(excluded.seconds < seconds, excluded.replay, replay),
    target = iif(excluded.seconds < seconds, excluded.target, target),
    seconds = min(seconds, excluded.seconds)
"""
