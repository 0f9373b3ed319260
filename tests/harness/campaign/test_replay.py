"""Every failing run is one line to repeat, and the fastest of each fingerprint is kept for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.campaign.night import Night
from harness.campaign.replay import digest, replay
from harness.campaign.results import Results, Row
from harness.campaign.status import Outcome
from tests.support.campaign_runs import job, plan
from tests.support.command import fencepost

FINGERPRINT = "2-9a1c0f63b2de"


def row(
    repeat: int, outcome: Outcome = Outcome.FAILED, *, seconds: float = 20.0, shape: str | None = FINGERPRINT
) -> Row:
    return Row(
        cell="a",
        repeat=repeat,
        reproduction=0,
        seed=repeat,
        started=f"2026-11-22T03:0{repeat}:00+00:00",
        seconds=seconds,
        outcome=outcome,
        verdict="invalid",
        fingerprint=shape if outcome is Outcome.FAILED else None,
        folder=None,
        replay=f"fencepost run a.toml --seed {repeat}",
        target='name = "a"\n',
    )


def test_the_line_has_command_seed_plan_version_and_commit(recorded_run: Callable[[str], Path]) -> None:
    folder = recorded_run("check-then-write")

    line = replay(folder, 7, version="0.1.0", commit="abcdef")

    command, _, facts = line.partition("  # ")
    assert f"{folder}/target.toml --seed 7" in command
    assert facts == f"plan {digest(folder / 'plan.json')}, fencepost 0.1.0, commit abcdef"


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
    rows = [row(1, seconds=20), row(2, seconds=9), row(3, seconds=30), row(4, Outcome.PASSED)]

    results.add(night, rows)
    results.add(night, rows)  # once more: counted once

    (seed,) = results.seeds()
    assert (seed.fingerprint, seed.seconds, seed.replay) == (FINGERPRINT, 9, "fencepost run a.toml --seed 2")
    assert (seed.failed, seed.passed) == (3, 1)


def test_each_fingerprint_has_its_own_seed(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    unknown = replace(row(3), fingerprint=None)

    results.add(Night(tmp_path, plan(job())), [row(1), row(2, shape="0" * 12), unknown])

    assert {seed.fingerprint for seed in results.seeds()} == {FINGERPRINT, "0" * 12}


def test_the_command_prints_the_lines(tmp_path: Path) -> None:
    Results(tmp_path / "nights.db").add(Night(tmp_path, plan(job())), [row(1), row(2, Outcome.PASSED)])

    done = fencepost(tmp_path, "campaign", "seeds", "--history", "nights.db")

    assert done.stdout.splitlines() == [
        f"{FINGERPRINT}  a, 20 s, failed once, passed once since",
        "  fencepost run a.toml --seed 1",
    ]


def test_the_targets_of_lost_nights_can_be_written_again(tmp_path: Path) -> None:
    line = "cd '/my code' && PYTHONPATH=. fencepost run '/old night/target.toml' --seed 1 --engine local  # plan 7"
    known = replace(row(1), replay=line)
    Results(tmp_path / "nights.db").add(Night(tmp_path, plan(job())), [known])

    done = fencepost(tmp_path, "campaign", "seeds", "--history", "nights.db", "--targets", "again")

    file = tmp_path / f"again/a-{FINGERPRINT}.toml"
    assert file.read_text() == 'name = "a"\n'
    assert done.stdout.splitlines()[1].strip() == line.replace("'/old night/target.toml'", str(file))


def test_a_line_may_begin_in_the_folder_of_the_night(recorded_run: Callable[[str], Path]) -> None:
    folder = recorded_run("check-then-write")

    line = replay(folder, 7, version="0.1.0", commit=None, within=folder.parents[1])

    assert line.startswith(f"fencepost run check-then-write/{folder.name}/target.toml --seed 7")
