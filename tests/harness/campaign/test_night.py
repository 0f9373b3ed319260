"""The folder of a night: what is recorded, what is left to do, and what is adopted after a kill."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from checkers.text.errors import HistoryError
from harness.campaign import workers
from harness.campaign.execution import Order, alone, messages_in
from harness.campaign.merge import merge
from harness.campaign.night import RESULTS, Night
from harness.campaign.schedule import Job
from harness.cli import campaign_worker
from harness.core.errors import ConfigurationError
from tests.support.campaign_runs import finished, job, plan, verdict

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
    "a worker": lambda of, log: workers._started(order(of), log),
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
