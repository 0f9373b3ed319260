"""The folder of a night: what is recorded, left to do and adopted after a kill, and which runs it keeps."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.text.errors import HistoryError
from harness.campaign import execution
from harness.campaign.execution import Finished, Order, alone, messages_in
from harness.campaign.keep import Keep, reduce
from harness.campaign.merge import merge
from harness.campaign.night import RESULTS, Night
from harness.campaign.schedule import Job
from harness.cli import campaign_worker
from harness.core.errors import ConfigurationError
from tests.support.campaign_runs import finished, job, plan, verdict
from tests.support.shards import rewritten

SOURCE = 'name = "nightly"\n[[cells]]\ntargets = ["a"]\n'
JOBS = (job("a"), job("b"), job("a", 2, seed=8))


def night(folder: Path, *jobs: Job) -> Night:
    return Night.create(folder, plan(*(jobs or JOBS)), SOURCE)


def run_folder(at: Night, of: Job, *, document: dict[str, object] | None) -> Path:
    """The folder of a run as a harness leaves it; without a document it was killed before the verdict."""
    folder = at.path / "runs" / of.cell / f"20261122T03000{of.repeat}-abcdef"
    folder.mkdir(parents=True)
    (folder / "header.json").write_text(json.dumps({"fencepost": 1, "seed": of.seed}))
    if document is not None:
        (folder / "verdict.json").write_text(json.dumps(document))
    return folder


def test_a_run_that_has_ended_is_not_made_again(tmp_path: Path) -> None:
    made = night(tmp_path)
    made.record(finished(JOBS[0]))
    made.record(finished(JOBS[1], 3, message="no engine"))

    read = Night.latest(tmp_path, "nightly")

    assert read.plan == made.plan
    assert read.open_jobs() == (JOBS[2],)
    assert [each.message for each in read.finished()] == ["", "no engine"]


def test_an_interrupted_run_is_made_again(tmp_path: Path) -> None:
    made = night(tmp_path)
    made.record(finished(JOBS[0], 130))
    made.record(finished(JOBS[1], 0, verdict() | {"interrupted": {"seconds": 1.0, "planned": 9.0}}))

    assert made.open_jobs() == JOBS


def test_a_line_cut_short_by_a_kill_is_not_a_run(tmp_path: Path) -> None:
    made = night(tmp_path)
    made.record(finished(JOBS[0]))
    with (made.path / RESULTS).open("a") as results:
        results.write('{"job":{"cell":"b"')

    assert made.open_jobs() == JOBS[1:]
    made.record(finished(JOBS[2]))  # and it does not spoil the next one
    assert made.open_jobs() == JOBS[1:2]


def test_a_run_that_was_judged_but_not_recorded_is_adopted(tmp_path: Path) -> None:
    made = night(tmp_path)
    judged = run_folder(made, JOBS[2], document=verdict("too late"))
    run_folder(made, JOBS[1], document=None)

    made.adopt()
    made.adopt()

    (adopted,) = made.finished()
    assert (adopted.job, adopted.exit_code, adopted.folder) == (
        JOBS[2],
        1,
        str(judged.relative_to(made.path)),
    )


def test_an_adopted_run_must_be_one_of_the_plan(tmp_path: Path) -> None:
    made = night(tmp_path)
    run_folder(made, job("a", 1, seed=99), document=verdict())

    made.adopt()

    assert made.finished() == ()


def test_two_folders_with_the_same_runs_are_not_shards(tmp_path: Path) -> None:
    shards = [night(tmp_path / name) for name in ("one", "two")]

    with pytest.raises(ConfigurationError, match="both have the run a-1"):
        merge([shard.path for shard in shards], tmp_path / "merged")


def test_a_folder_without_a_plan_is_not_a_night(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"is not the folder of a campaign: it has no plan\.json"):
        Night.read(tmp_path)


@pytest.mark.parametrize("name", ["../x", "a/b", ""])
def test_a_plan_with_impossible_file_names_is_refused(tmp_path: Path, name: str) -> None:
    made = night(tmp_path)
    plan_file = made.path / "plan.json"
    plan_file.write_text(plan_file.read_text().replace('"cell": "b"', f'"cell": "{name}"'))

    with pytest.raises(ConfigurationError, match="cannot be the name of a file"):
        Night.read(made.path)


def order(of: Night) -> Order:
    return Order(job=JOBS[0], engine="local", night=of.path)


WAYS: dict[str, Callable[[Night, Path], object]] = {
    "a run of its own": lambda of, log: alone(order(of), log),
    "a worker": lambda of, log: execution._started(order(of), log),
    "a run of a worker": lambda _of, log: campaign_worker._print_to(log),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("link", ["log", "folder"])
def test_no_log_is_written_through_a_link_of_a_received_night(tmp_path: Path, way: str, link: str) -> None:
    made = night(tmp_path / "nights")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a-1.log").write_text("mine")
    logs = made.path / "logs"
    if link == "log":
        (logs / "a-1.log").symlink_to(tmp_path / "mine" / "a-1.log")
    else:
        logs.rmdir()
        logs.symlink_to(tmp_path / "mine")

    with pytest.raises((ConfigurationError, HistoryError), match=r"was not overwritten|a symbolic link"):
        WAYS[way](made, logs / "a-1.log")

    assert [(file.name, file.read_text()) for file in (tmp_path / "mine").iterdir()] == [("a-1.log", "mine")]


def test_the_log_of_a_run_that_is_made_again_is_new_and_private(tmp_path: Path) -> None:
    log = night(tmp_path).path / "logs" / "a-1.log"
    log.write_text("of the first time")
    log.chmod(0o644)

    with messages_in(log) as messages:
        messages.write(b"again")

    assert (log.read_text(), log.stat().st_mode & 0o777) == ("again", 0o600)


STALE = verdict("Client 0 wrote 'x' too late")
WRITTEN = (
    *("history.jsonl", "commits.jsonl", "report.html", "storage.db"),
    *("events/client-0.jsonl", "logs/etcd.log"),
)
NEEDED = ("verdict.json", "junit.xml", "header.json", "plan.json", "target.toml")


def night_of(nights: Path, started: str, *runs: Finished, campaign: str = "nightly") -> Night:
    """A kept whose runs wrote 100 bytes into each of their files."""
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
    mine = night_of(tmp_path, "2026-11-22T03:00", finished(job()))
    shard = rewritten(night_of(tmp_path, "2026-11-21T03:00", finished(job())), shard="1/2")

    assert reduce(mine, "failures", 0) == 1

    assert whole(shard) == ["a-1"]


def whole(of: Night) -> list[str]:
    """The runs of a kept that still have their history."""
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
    made = night_of(tmp_path, "2026-11-22T03:00", *FIVE)

    reduced = reduce(made, keep, None)

    assert whole(made) == left
    assert reduced == len(FIVE) - len(left)


def test_a_reduced_run_still_says_how_it_ended(tmp_path: Path) -> None:
    made = night_of(tmp_path, "2026-11-22T03:00", finished(job()))

    reduce(made, "failures", None)

    folder = made.path / "runs/a/a-1"
    assert sorted(file.name for file in folder.rglob("*") if file.is_file()) == sorted(NEEDED)
    assert len(made.finished()) == 1
    assert reduce(made, "failures", None) == 0


def test_the_repetitions_of_a_failure_are_kept_even_if_they_passed(tmp_path: Path) -> None:
    made = night_of(tmp_path, "2026-11-22T03:00", finished(job(), 1, STALE), finished(job(reproduction=1), 0))

    assert reduce(made, "failures", 0) == 0


def test_the_last_runs_of_a_cell_are_counted_over_nights(tmp_path: Path) -> None:
    first = night_of(tmp_path, "2026-11-21T03:00", finished(job()))
    second = night_of(tmp_path, "2026-11-22T03:00", finished(job()))
    newest, oldest = (first, second) if first.path.name > second.path.name else (second, first)

    reduce(newest, 1, None)

    assert (whole(oldest), whole(newest)) == ([], ["a-1"])


@pytest.mark.parametrize(
    ("size", "left"), [(3 * 100 * len(WRITTEN) + 50, ["b-1", "b-2", "c-1"]), (0, ["b-2", "c-1"])]
)
def test_the_oldest_passed_runs_go_until_the_size_fits(tmp_path: Path, size: int, left: list[str]) -> None:
    """Failures are kept even if they are too large."""
    made = night_of(tmp_path, "2026-11-22T03:00", *FIVE)

    reduce(made, "all", size)

    assert whole(made) == left


def test_files_that_no_run_wrote_are_kept(tmp_path: Path) -> None:
    made = night_of(tmp_path, "2026-11-22T03:00", finished(job()))
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
    made = night_of(tmp_path / "nights", "2026-11-22T03:00", finished(job()), finished(job("b")))
    events = made.path / "runs/a/a-1/events"
    events.rename(events.with_name("moved"))
    events.symlink_to(outside)
    (made.path / "runs/b").rename(outside / "b")
    (made.path / "runs/b").symlink_to(made.path / "runs/a")

    reduce(made, "failures", 0)

    assert sorted(file.name for file in outside.glob("*.jsonl")) == ["client-0.jsonl", "history.jsonl"]
    assert (outside / "b/b-1/history.jsonl").exists()


def test_a_folder_with_another_seed_is_not_the_runs(tmp_path: Path) -> None:
    made = night_of(tmp_path, "2026-11-22T03:00", finished(job()))
    (made.path / "runs/a/a-1/header.json").write_text('{"seed": 99}')

    assert reduce(made, "failures", 0) == 0


def test_nights_of_other_campaigns_and_in_use_are_left_alone(tmp_path: Path) -> None:
    mine = night_of(tmp_path, "2026-11-22T03:00", finished(job()))
    busy = night_of(tmp_path, "2026-11-21T03:00", finished(job()))
    other = night_of(tmp_path / "x", "2026-11-20T03:00", finished(job()), campaign="other")
    moved = Night(other.path.rename(mine.path.parent / other.path.name), other.plan)
    broken = night_of(tmp_path, "2026-11-19T03:00", finished(job()))
    broken.record(replace(finished(job(repeat=2)), folder="../../outside"))

    with busy.in_use():
        assert reduce(mine, "failures", 0) == 1

    assert whole(busy) == whole(moved) == ["a-1"]
    assert (broken.path / "runs/a/a-1/history.jsonl").exists()
