"""What is kept of a failure for ever: one line that repeats it, and the fastest seed of its fingerprint."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from harness.campaign.night import Night
from harness.campaign.replay import Replay, digest, replay_of
from harness.campaign.results import Results, StoredRun
from harness.campaign.status import RunOutcome
from tests.support.campaign_runs import job, plan, stored
from tests.support.command import fencepost
from tests.support.recorded_runs import Unpack
from tests.support.repository import ROOT
from tests.support.target_files import OWN_PROGRAM

FINGERPRINT = "4-9a1c0f63b2de"
SHIPPED = (ROOT / "targets/etcd-same-etcd.toml").read_text()
WHOLE = "fencepost run '/my night/target.toml' --seed 1 --engine local --no-faults"
FACTS = "plan 0123456789ab, fencepost 0.1.0, commit abcdef0"


def text_of(folder: Path) -> str:
    return (folder / "target.toml").read_text()


def row(
    repeat: int,
    outcome: RunOutcome = RunOutcome.FAILED,
    *,
    seconds: float = 20.0,
    shape: str | None = FINGERPRINT,
) -> StoredRun:
    return stored(
        outcome=outcome,
        repeat=repeat,
        seed=repeat,
        started=f"2026-11-22T03:0{repeat}:00+00:00",
        seconds=seconds,
        fingerprint=shape if outcome is RunOutcome.FAILED else None,
        replay=Replay(target="a.toml", seed=repeat),
        target=SHIPPED,
    )


def test_a_replay_has_command_seed_plan_version_and_commit(recorded_run: Unpack) -> None:
    folder = recorded_run("check-then-write")
    replay = replay_of(folder, 7, version="0.1.0", commit="abcdef0")

    again = replay.run_again(text_of(folder))

    assert f"{folder}/target.toml --seed 7" in str(again.command)
    assert again.made_with == f"plan {digest(folder / 'plan.json')}, fencepost 0.1.0, commit abcdef0"
    assert f"that run: {again.made_with}" in again.notes()


@pytest.mark.parametrize("word", ["x\ntouch PWNED", "$(touch PWNED)", "; touch PWNED", "!!", "", "--help"])
def test_a_version_or_commit_that_is_none_is_left_out(word: str) -> None:
    replay = Replay(target="t.toml", seed=7, plan=word, fencepost=word, commit=word)

    assert replay.run_again(None).made_with == ""


@pytest.mark.parametrize(
    "options", [("--set", 'client.command=["touch"]'), ("--runs", "/"), ("--engine", ";")]
)
def test_options_that_no_run_records_are_left_out(options: tuple[str, ...]) -> None:
    replay = Replay(target="t.toml", seed=7, options=(*options, "--no-faults"))

    assert str(replay.run_again(None).command) == "fencepost run t.toml --seed 7 --no-faults"


def test_a_digest_names_the_schedule_and_not_its_moments(tmp_path: Path) -> None:
    one, other, third = (tmp_path / name for name in ("one", "other", "third"))
    one.write_text(json.dumps({"planned": [{"kind": "pause", "at": 1}], "started": 5}))
    other.write_text(json.dumps({"planned": [{"at": 1, "kind": "pause"}], "started": 6}))
    third.write_text(json.dumps({"planned": [{"kind": "pause", "at": 2}], "started": 5}))

    assert digest(one) == digest(other)
    assert digest(one) != digest(third)
    assert digest(tmp_path / "missing") is None


def test_the_fastest_failing_seed_of_a_fingerprint_is_kept(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    night = Night(tmp_path, plan(job()))
    rows = [row(1, seconds=20), row(2, seconds=9), row(3, seconds=30), row(4, RunOutcome.PASSED)]

    results.add(night, rows)
    results.add(night, rows)  # once more: counted once

    (seed,) = results.seeds()
    assert (seed.fingerprint, seed.seconds) == (FINGERPRINT, 9)
    assert seed.replay == Replay(target="a.toml", seed=2)
    assert (seed.failed, seed.passed) == (3, 1)


def test_each_fingerprint_has_its_own_seed(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    unknown = replace(row(3), fingerprint=None)

    results.add(Night(tmp_path, plan(job())), [row(1), row(2, shape="0" * 12), unknown])

    assert {seed.fingerprint for seed in results.seeds()} == {FINGERPRINT, "0" * 12}


def test_the_command_prints_the_lines(tmp_path: Path) -> None:
    Results(tmp_path / "nights.db").add(Night(tmp_path, plan(job())), [row(1), row(2, RunOutcome.PASSED)])

    done = fencepost(tmp_path, "campaign", "seeds", "--history", "nights.db")

    assert done.stdout.splitlines() == [
        f"{FINGERPRINT}  a, 20 s, failed once, passed once since",
        "  fencepost run a.toml --seed 1",
    ]


def test_the_targets_of_lost_nights_can_be_written_again(tmp_path: Path) -> None:
    known = Replay(
        target="/old night/target.toml", seed=1, options=("--engine", "local"), plan="0123456789ab"
    )
    results = Results(tmp_path / "nights.db")
    results.add(Night(tmp_path, plan(job())), [replace(row(1), replay=known)])

    done = fencepost(tmp_path, "campaign", "seeds", "--history", "nights.db", "--targets", "again")

    file = tmp_path / f"again/a-{FINGERPRINT}.toml"
    assert file.read_text() == SHIPPED
    assert done.stdout.splitlines()[1:] == [
        f"  fencepost run {file} --seed 1 --engine local",
        "  that run: plan 0123456789ab",
    ]


def test_a_target_of_strangers_is_written_but_no_command_runs_it(tmp_path: Path) -> None:
    known = Replay(target="/old/target.toml", seed=1, folder="/theirs", python_path="/theirs")
    results = Results(tmp_path / "nights.db")
    results.add(Night(tmp_path, plan(job())), [replace(row(1), replay=known, target=OWN_PROGRAM)])

    printed = fencepost(tmp_path, "campaign", "seeds", "--history", "nights.db").stdout
    written = fencepost(tmp_path, "campaign", "seeds", "--history", "nights.db", "--targets", "again").stdout

    assert "  read /old/target.toml before you run it:\n" in printed
    assert '  client.command: ["./client\\n"]\n' in printed
    assert '  client.command: ["./client\\n"]\n' in written
    assert "fencepost run" not in printed + written
    assert "cd " not in printed + written


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("fencepost run a.toml --seed 1", ["fencepost run a.toml --seed 1"]),
        (f"/opt/bin/{WHOLE}  # {FACTS}", [WHOLE, f"that run: {FACTS}"]),
        ("cd '/my code' && PYTHONPATH=. fencepost run t.toml --seed 1", ["fencepost run t.toml --seed 1"]),
        (
            "fencepost run a.toml --seed 1  # plan unknown, fencepost 0.1.0",
            ["fencepost run a.toml --seed 1", "that run: fencepost 0.1.0"],
        ),
        ("fencepost run a.toml --seed 1  # plan x, commit y\ntouch PWNED", None),
        ("fencepost run a.toml --seed 1; touch PWNED", None),
        ("fencepost run a.toml --seed 1 --engine local && touch PWNED", None),
        ("fencepost run $(touch PWNED) --seed 1", None),
        ("fencepost run a.toml --seed $(touch)", None),
        ("fencepost run a.toml --seed 1 --set client.command=x", None),
        ("cd /x && touch PWNED", None),
        ("cd /x && touch PWNED && fencepost run a --seed 1", None),
        ("cd '/x; touch PWNED && fencepost run a --seed 1", None),
        ("touch run PWNED --seed 1", None),
        ("", None),
    ],
)
def test_a_line_of_an_earlier_version_is_shown_if_it_is_one_command(
    tmp_path: Path, line: str, shown: list[str] | None
) -> None:
    Results(tmp_path / "nights.db").add(Night(tmp_path, plan(job())), [row(1)])
    with closing(sqlite3.connect(tmp_path / "nights.db")) as database, database:
        database.execute("UPDATE seeds SET replay = ?, words = NULL", (line,))

    done = fencepost(tmp_path, "campaign", "seeds", "--history", "nights.db")

    printed = [printed.strip() for printed in done.stdout.splitlines()[1:]]
    assert printed == (
        shown or ["what is stored for it is not a single command of fencepost, so it is not shown"]
    )


def test_a_line_may_begin_in_the_folder_of_the_night(recorded_run: Unpack) -> None:
    folder = recorded_run("check-then-write")
    replay = replay_of(folder, 7, version="0.1.0", commit=None)

    line = str(replay.run_again(text_of(folder), f"check-then-write/{folder.name}/target.toml").command)

    assert line.startswith(f"fencepost run check-then-write/{folder.name}/target.toml --seed 7")
