"""Which run folders are kept: never is a failure reduced, nor anything that no run wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.campaign.execution import Finished
from harness.campaign.keep import Keep, reduce
from harness.campaign.night import Night
from tests.support.campaign_runs import finished, job, plan, verdict
from tests.support.shards import rewritten

STALE = verdict("Client 0 wrote 'x' too late")
WRITTEN = (
    *("history.jsonl", "commits.jsonl", "report.html", "storage.db"),
    *("events/client-0.jsonl", "logs/etcd.log"),
)
NEEDED = ("verdict.json", "junit.xml", "header.json", "plan.json", "target.toml")


def night(nights: Path, started: str, *runs: Finished, campaign: str = "nightly") -> Night:
    """A night whose runs wrote 100 bytes into each of their files."""
    jobs = [run.job for run in runs if not run.job.reproduction]
    made = Night.create(nights, plan(*jobs, started=started, campaign=campaign), 'name = "nightly"\n')
    for run in runs:
        folder = made.path / str(run.folder)
        for name in (*WRITTEN, *NEEDED):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("x" * 100)
        (folder / "header.json").write_text(json.dumps({"seed": run.job.seed}))
        made.record(run)
    return made


def test_the_runs_of_earlier_shards_are_kept(tmp_path: Path) -> None:
    mine = night(tmp_path, "2026-11-22T03:00", finished(job()))
    shard = rewritten(night(tmp_path, "2026-11-21T03:00", finished(job())), shard="1/2")

    assert reduce(mine, "failures", 0) == 1

    assert whole(shard) == ["a-1"]


def whole(of: Night) -> list[str]:
    """The runs of a night that still have their history."""
    return [each.job.id for each in of.finished() if (of.path / str(each.folder) / "history.jsonl").exists()]


FIVE = (
    finished(job("a", 1)),
    finished(job("a", 2, seed=8)),
    finished(job("b", 1)),
    finished(job("b", 2, seed=8), 1, STALE),
    finished(job("c", 1), 2),
)


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ("all", ["a-1", "a-2", "b-1", "b-2", "c-1"]),
        (1, ["a-2", "b-1", "b-2", "c-1"]),
        (0, ["b-2", "c-1"]),
        ("failures", ["b-2", "c-1"]),
    ],
)
def test_the_policy_chooses_among_runs_that_passed(tmp_path: Path, keep: Keep, left: list[str]) -> None:
    made = night(tmp_path, "2026-11-22T03:00", *FIVE)

    reduced = reduce(made, keep, None)

    assert whole(made) == left
    assert reduced == len(FIVE) - len(left)


def test_a_reduced_run_still_says_how_it_ended(tmp_path: Path) -> None:
    made = night(tmp_path, "2026-11-22T03:00", finished(job()))

    reduce(made, "failures", None)

    folder = made.path / "runs/a/a-1"
    assert sorted(file.name for file in folder.rglob("*") if file.is_file()) == sorted(NEEDED)
    assert len(made.finished()) == 1
    assert reduce(made, "failures", None) == 0


def test_the_repetitions_of_a_failure_are_kept_even_if_they_passed(tmp_path: Path) -> None:
    made = night(tmp_path, "2026-11-22T03:00", finished(job(), 1, STALE), finished(job(reproduction=1), 0))

    assert reduce(made, "failures", 0) == 0


def test_the_last_runs_of_a_cell_are_counted_over_nights(tmp_path: Path) -> None:
    first = night(tmp_path, "2026-11-21T03:00", finished(job()))
    second = night(tmp_path, "2026-11-22T03:00", finished(job()))
    newest, oldest = (first, second) if first.path.name > second.path.name else (second, first)

    reduce(newest, 1, None)

    assert (whole(oldest), whole(newest)) == ([], ["a-1"])


def test_the_oldest_passed_runs_go_until_the_size_fits(tmp_path: Path) -> None:
    made = night(tmp_path, "2026-11-22T03:00", *FIVE)

    reduce(made, "all", 3 * 100 * len(WRITTEN) + 50)

    assert whole(made) == ["b-1", "b-2", "c-1"]


def test_failures_are_kept_even_if_they_are_too_large(tmp_path: Path) -> None:
    made = night(tmp_path, "2026-11-22T03:00", *FIVE)

    reduce(made, "all", 0)

    assert whole(made) == ["b-2", "c-1"]


def test_files_that_no_run_wrote_are_kept(tmp_path: Path) -> None:
    made = night(tmp_path, "2026-11-22T03:00", finished(job()))
    folder = made.path / "runs/a/a-1"
    (folder / "notes.txt").write_text("mine")
    (folder / "events/notes.txt").write_text("mine")
    stranger = made.path / "runs/a/other"
    stranger.mkdir()
    (stranger / "history.jsonl").write_text("mine")

    reduce(made, "failures", 0)

    kept = [folder / "notes.txt", folder / "events/notes.txt", stranger / "history.jsonl"]
    assert [file.read_text() for file in kept] == ["mine"] * 3


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "history.jsonl").write_text("mine")
    (outside / "client-0.jsonl").write_text("mine")
    made = night(tmp_path / "nights", "2026-11-22T03:00", finished(job()), finished(job("b")))
    events = made.path / "runs/a/a-1/events"
    events.rename(events.with_name("moved"))
    events.symlink_to(outside)
    (made.path / "runs/b").rename(outside / "b")
    (made.path / "runs/b").symlink_to(made.path / "runs/a")

    reduce(made, "failures", 0)

    assert sorted(file.name for file in outside.glob("*.jsonl")) == ["client-0.jsonl", "history.jsonl"]
    assert (outside / "b/b-1/history.jsonl").exists()


def test_a_folder_with_another_seed_is_not_the_runs(tmp_path: Path) -> None:
    made = night(tmp_path, "2026-11-22T03:00", finished(job()))
    (made.path / "runs/a/a-1/header.json").write_text('{"seed": 99}')

    assert reduce(made, "failures", 0) == 0


def test_nights_of_other_campaigns_and_in_use_are_left_alone(tmp_path: Path) -> None:
    mine = night(tmp_path, "2026-11-22T03:00", finished(job()))
    busy = night(tmp_path, "2026-11-21T03:00", finished(job()))
    other = night(tmp_path / "x", "2026-11-20T03:00", finished(job()), campaign="other")
    moved = Night(other.path.rename(mine.path.parent / other.path.name), other.plan)
    broken = night(tmp_path, "2026-11-19T03:00", finished(job()))
    broken.record(replace(finished(job(repeat=2)), folder="../../outside"))

    with busy.in_use():
        assert reduce(mine, "failures", 0) == 1

    assert whole(busy) == whole(moved) == ["a-1"]
    assert (broken.path / "runs/a/a-1/history.jsonl").exists()
