"""A results file made by hand or by somebody else: whatever is wrong with it is one sentence."""

import os
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from checkers.text.errors import FencepostError
from harness.campaign.night import Night
from harness.campaign.recheck_history import recheck
from harness.campaign.replay import Replay
from harness.campaign.results import Results
from harness.campaign.status import RunOutcome
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import job, plan, stored
from tests.support.command import fencepost, refusal
from tests.support.repository import ROOT

STARTED = "2026-11-22T03:00:00+00:00"
LATER = "2027"
FINGERPRINT = "4-0123456789ab"
SHIPPED = (ROOT / "targets/etcd-same-etcd.toml").read_text()
PROGRAM = """
name = "a"
expect = "valid"
client.command = ["evil"]
lock.kind = "etcd"
storage = { kind = "postgres", fencing = "conditional-update" }
"""
TOO_RARE = """
workload.duration = "5s"
[[faults]]
kind = "kill"
target = "storage"
every = "30s"
lasts = "1s"
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with a run that failed."""
    file = tmp_path / "nights.db"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/history.jsonl").write_text("a history\n")
    failed = stored(
        outcome=RunOutcome.FAILED,
        started=STARTED,
        verdict="invalid",
        fingerprint=FINGERPRINT,
        anomalies={"stale-write": 1},
        folder=str(tmp_path / "run"),
        replay="fencepost run runs/a/1/target.toml --seed 7",
        target='name = "a"\n',
    )
    Results(file).add(Night(tmp_path, plan(job(), started=STARTED)), [failed])
    return file


@contextmanager
def changed(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file)) as database, database:
        yield database


def read_all(file: Path) -> None:
    results = Results(file)
    results.seeds()
    results.outcomes(before=LATER)
    results.past(before=LATER)
    results.recent("nightly", before=LATER, nights=30)
    list(recheck(results))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE runs SET seconds = 'long'", "a run of a is not as a campaign writes it: Expected `float`"),
        ("UPDATE runs SET seconds = 9e999", "Expected `float` <= 1000000000.0"),
        ("UPDATE runs SET seconds = -1", "Expected `float` >= 0.0"),
        ("UPDATE runs SET seed = x'00'", "Expected `str`"),
        ("UPDATE runs SET outcome = 'splendid'", "Invalid enum value 'splendid'"),
        ("UPDATE runs SET cell = '../../.bashrc'", "'../../.bashrc' cannot be the name of a file"),
        ("UPDATE runs SET cell = x'00ff'", "cannot be the name of a file"),
        ("UPDATE runs SET fingerprint = '2-x'", "'2-x' is no fingerprint"),
        ("UPDATE runs SET anomalies = 'none'", "JSON is malformed"),
        ("UPDATE runs SET anomalies = x'00'", "Input data was truncated"),
        ("UPDATE runs SET anomalies = '[1]'", "got `array`"),
        ("UPDATE runs SET anomalies = replace(hex(zeroblob(50000)), '0', '[')", "recursion"),
        ("UPDATE runs SET history = 7", "Expected `bytes`"),
        ("UPDATE runs SET history = zeroblob(60000000)", "too big"),
        ("UPDATE runs SET verdict = cast(x'ff' AS TEXT)", "Could not decode to UTF-8"),
        ("UPDATE seeds SET cell = '../x'", "'../x' cannot be the name of a file"),
        ("UPDATE seeds SET fingerprint = '../x'", "'../x' is no fingerprint"),
        ("UPDATE seeds SET fingerprint = NULL", "got `null`"),
        ("UPDATE seeds SET failed = 'often'", "Expected `int`"),
        ("UPDATE seeds SET target = x'00'", "Expected `str`"),
        (
            "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT * FROM n",
            "is not a file of Fencepost",
        ),
        (
            "CREATE TRIGGER hidden AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
            "is not a file of Fencepost",
        ),
    ],
)
def test_rows_that_no_campaign_writes_are_refused(database: Path, change: str, why: str) -> None:
    with changed(database) as made:
        made.execute(change)

    with pytest.raises(FencepostError) as error:
        read_all(database)
    assert why in str(error.value)
    assert len(str(error.value)) < 1000


def test_a_history_that_expands_is_not_decompressed(database: Path) -> None:
    with changed(database) as made:
        made.execute("UPDATE runs SET history = ?", (zlib.compress(bytes(1 << 25), 1),))

    (found,) = recheck(Results(database))

    assert "it has more than the 16,777,216 bytes" in found.changes[0]


@pytest.mark.parametrize("stored", [b"", b"no", zlib.compress(b"a history")[:-4]])
def test_a_broken_history_is_a_change(database: Path, stored: bytes) -> None:
    with changed(database) as made:
        made.execute("UPDATE runs SET history = ?", (stored,))

    (found,) = recheck(Results(database))

    assert found.changes[0].startswith("cannot be read: ")


@pytest.mark.timeout(60)
def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "nights.db")

    with pytest.raises(FencepostError, match="this is a pipe"):
        Results(tmp_path / "nights.db")


def test_a_new_file_can_be_read_by_its_user_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        results = Results(tmp_path / "nights.db")
    finally:
        os.umask(before)

    assert (tmp_path / "nights.db").stat().st_mode & 0o777 == 0o600
    assert results.exposed == ""


def test_an_old_file_that_others_can_change_keeps_its_mode_and_is_named(database: Path) -> None:
    database.chmod(0o666)

    done = fencepost(database.parent, "campaign", "seeds", "--history", database)

    assert done.returncode == ExitCode.AS_EXPECTED
    assert "other users can change these results (mode 0666): chmod go-w it" in done.stderr
    assert database.stat().st_mode & 0o777 == 0o666


def test_a_target_file_is_written_once(database: Path) -> None:
    command = ("campaign", "seeds", "--history", str(database), "--targets", "again")
    folder = database.parent
    file = folder / f"again/a-{FINGERPRINT}.toml"

    codes = [fencepost(folder, *command).returncode for _ in range(2)]
    file.write_text("mine")
    assert codes == [ExitCode.AS_EXPECTED] * 2
    assert "exists and was not overwritten" in refusal(folder, *command)
    assert file.read_text() == "mine"


def test_a_link_among_the_target_files_is_not_followed(database: Path) -> None:
    folder = database.parent
    (folder / "again").mkdir()
    (folder / f"again/a-{FINGERPRINT}.toml").symlink_to(folder / "outside")

    refusal(folder, "campaign", "seeds", "--history", str(database), "--targets", "again")

    assert not (folder / "outside").exists()


def super_journal(victim: Path) -> bytes:
    """What is left of a transaction on several databases: at its end, the file that knows them."""
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(victim)
    header = (magic + struct.pack(">5I", 0, 0, 1, 512, 4096)).ljust(512, b"\0")
    return (
        header
        + struct.pack(">I", (1 << 30) // 4096 + 1)
        + name
        + struct.pack(">2I", len(name), sum(name))
        + magic
    )


@pytest.mark.parametrize("by_a_link", [False, True])
def test_no_file_that_a_journal_names_is_removed(database: Path, tmp_path: Path, by_a_link: bool) -> None:
    with changed(database) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "nights.db-journal").write_bytes(super_journal(victim))
    (tmp_path / "links").mkdir()
    (tmp_path / "links/nights.db").symlink_to(database)

    with pytest.raises(
        FencepostError, match=r"nights\.db-journal: names another file, which SQLite would remove"
    ):
        read_all(tmp_path / "links/nights.db" if by_a_link else database)

    assert victim.read_text() == "precious"


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize(
    ("put", "what"),
    [
        (os.mkfifo, "this is a pipe"),
        (lambda path: path.symlink_to("victim"), "this is a symbolic link"),
        (Path.mkdir, "this is a folder"),
    ],
)
def test_what_is_beside_the_file_is_a_regular_file(
    database: Path, suffix: str, put: Callable[[Path], object], what: str
) -> None:
    put(database.with_name(f"nights.db{suffix}"))

    with pytest.raises(FencepostError, match=f"nights.db{suffix}: {what}"):
        read_all(database)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE INDEX more ON seeds (instr(zeroblob(10), cell))",
        "ALTER TABLE seeds ADD COLUMN more AS (instr(zeroblob(10), cell))",
        "CREATE TABLE more (x)",
        "DROP INDEX seeds_of_cell",
    ],
)
def test_tables_of_another_form_are_refused(database: Path, change: str) -> None:
    with changed(database) as connection:
        connection.execute(change)

    with pytest.raises(FencepostError, match="is not a file of Fencepost: its tables have another form"):
        read_all(database)


def seeds(database: Path, target: Path | str, text: str, *options: str) -> str:
    """What `campaign seeds` prints for a seed of that target."""
    words = msgspec.json.encode(Replay(target=str(target), seed=7, options=options)).decode()
    with changed(database) as connection:
        connection.execute("UPDATE seeds SET words = ?, target = ?", [words, text])
    return fencepost(database.parent, "campaign", "seeds", "--history", str(database)).stdout


def test_no_command_runs_another_target_than_the_stored_one(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.toml"

    assert f"fencepost run {target} --seed 7" in seeds(database, target, SHIPPED)
    target.write_text(SHIPPED)
    assert f"fencepost run {target} --seed 7" in seeds(database, target, SHIPPED)
    target.write_text('name = "evil"\n')
    printed = seeds(database, target, SHIPPED)
    assert "fencepost run" not in printed
    assert "its target file is not the one that failed: --targets DIR writes that one" in printed


def test_the_file_of_a_stored_target_is_never_an_option(database: Path, tmp_path: Path) -> None:
    assert f"fencepost run {tmp_path}/--trust --seed 7" in seeds(database, "--trust", SHIPPED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "options"),
    [
        (PROGRAM, ()),
        (f"\ufeff{PROGRAM}", ()),
        (PROGRAM + TOO_RARE, ("--no-faults",)),
        (f"{PROGRAM}unknown = 1\n", ()),
        (PROGRAM + "#" * (1 << 16), ()),
    ],
)
def test_no_command_runs_a_program_that_did_not_run_here(
    database: Path, tmp_path: Path, text: str, options: tuple[str, ...]
) -> None:
    target = tmp_path / "target.toml"

    printed = seeds(database, target, text, *options)

    assert "fencepost run" not in printed
    assert f"read {target} before you run it:" in printed
