"""A shard from another machine: whatever is wrong with it is one sentence, before anything is written."""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from checkers.text import limits
from checkers.text.errors import FencepostError
from harness.campaign.merge import merge
from harness.campaign.night import Night
from harness.core.exit_codes import ExitCode, of_error
from tests.support import shards
from tests.support.campaign_runs import cell, finished, job, plan, verdict
from tests.support.shards import SOURCE, relined, rewritten

Change = Callable[[Night], object]
DEEP = '{"verdict":' + '{"more":' * 200_000
NEWLINE = "0.1.0\n  rm -rf ~"


@pytest.fixture
def shard(tmp_path: Path) -> Night:
    """A shard with one run, and files that are none of Fencepost."""
    made = Night.create(tmp_path / "one", plan(job()), SOURCE)
    folder = made.path / "runs/a/a-1"
    folder.mkdir(parents=True)
    (folder / "history.jsonl").write_text("{}\n")
    (made.path / "logs/a-1.log").write_text("a log")
    made.record(finished(job()))
    return made


def refused(tmp_path: Path, *of: Night) -> str:
    """The only sentence about some shards, of which nothing was written."""
    with pytest.raises(FencepostError) as error:
        merge([each.path for each in of], tmp_path / "merged", shards.campaign(tmp_path))

    assert of_error(error.value) is ExitCode.CONFIGURATION
    assert not (tmp_path / "merged").exists()
    assert "\n" not in str(error.value)
    return str(error.value)


def as_pipe(name: str) -> Change:
    def change(of: Night) -> None:
        (of.path / name).unlink(missing_ok=True)
        os.mkfifo(of.path / name)

    return change


def as_link(name: str, to: str) -> Change:
    def change(of: Night) -> None:
        (of.path / name).unlink(missing_ok=True)
        (of.path / name).symlink_to(to)

    return change


def with_size(name: str, size: int) -> Change:
    def change(of: Night) -> None:
        with (of.path / name).open("ab") as file:
            file.truncate(size)

    return change


def with_text(name: str, text: str) -> Change:
    return lambda of: (of.path / name).write_text(text)


def with_plan(fields: dict[str, Any]) -> Change:
    return lambda of: rewritten(of, **fields)


def with_cell(fields: dict[str, Any]) -> Change:
    return with_plan({"cells": [msgspec.to_builtins(cell()) | fields]})


def with_job(fields: dict[str, Any]) -> Change:
    return with_plan({"jobs": [msgspec.to_builtins(job()) | fields]})


def with_result(fields: dict[str, Any]) -> Change:
    return lambda of: relined(of, **fields)


MISTYPED = verdict() | {"findings": 7}
UNKNOWN = verdict() | {"verdict": "probably"}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (as_pipe("plan.json"), "plan.json: this is a pipe"),
        (as_pipe("results.jsonl"), "results.jsonl: this is a pipe"),
        (as_pipe("runs/a/a-1/history.jsonl"), "history.jsonl: this is a pipe"),
        (as_pipe("runs/a/a-1/more"), "more: this is a pipe"),
        (as_pipe("logs/a-2.log"), "a-2.log: this is a pipe"),
        (as_link("plan.json", "/dev/zero"), "plan.json: this is a symbolic link"),
        (as_link("results.jsonl", "/dev/zero"), "results.jsonl: this is a symbolic link"),
        (as_link("runs/a/a-1/history.jsonl", "/dev/zero"), "history.jsonl: this is a symbolic link"),
        (as_link("runs/a/a-1/events", "/etc"), "events: this is a symbolic link"),
        (as_link("logs/a-2.log", "/etc/passwd"), "a-2.log: this is a symbolic link"),
        (with_size("plan.json", limits.NIGHT), "plan.json: this is not a text: it has a null byte"),
        (with_size("results.jsonl", limits.NIGHT), "results.jsonl:2: this is not a text: it has a null byte"),
        (with_size("plan.json", limits.NIGHT + 1), "256 MiB"),
        (with_size("results.jsonl", limits.NIGHT + 1), "256 MiB"),
        (with_size("runs/a/a-1/history.jsonl", limits.HISTORY + 1), "2 GiB"),
        (with_size("runs/a/a-1/plan.json", limits.DOCUMENT + 1), "16 MiB"),
        (with_size("runs/a/a-1/more", limits.HISTORY + 1), "2 GiB"),
        (with_size("logs/a-1.log", limits.HISTORY + 1), "2 GiB"),
        (with_text("plan.json", DEEP), "plan.json: no campaign writes that: it is nested too deep"),
        (with_text("plan.json", "{}"), "plan.json: no campaign writes that: "),
        (with_text("results.jsonl", "hello\n"), "results.jsonl:1: no campaign writes that: "),
        (with_text("results.jsonl", DEEP), "results.jsonl:1: no campaign writes that: it is nested"),
        (with_text("results.jsonl", f'{{"job":{DEEP}'), "results.jsonl:1: no campaign writes that: "),
        (with_text("results.jsonl", '{"job":7}'), "results.jsonl:1: no campaign writes that: "),
        (with_text("results.jsonl", '{"job":' + "9" * 5000 + "}"), "results.jsonl:1: no campaign writes"),
        (with_plan({"campaign": "../x"}), "'../x' cannot be the name of a file"),
        (with_plan({"campaign": "nightly\n"}), r"'nightly\n' cannot be the name of a file"),
        (with_plan({"engine": "local\n::error::x"}), "cannot be the name of a file"),
        (with_plan({"canary": "/etc"}), "'/etc' cannot be the name of a file"),
        (with_plan({"fencepost": NEWLINE}), r"'0.1.0\n  rm -rf ~' cannot be a version"),
        (with_plan({"git_commit": "abc; rm -rf ~"}), "'abc; rm -rf ~' cannot be a commit"),
        (with_plan({"tested_commit": "abc; rm -rf ~"}), "'abc; rm -rf ~' cannot be a commit"),
        (with_plan({"started": "tomorrow"}), "'tomorrow' cannot be a moment"),
        (with_plan({"started": "2026-13-01T03:00:00+00:00"}), "cannot be a moment"),
        (with_plan({"started": "2026-11-22T03:00:00+00:00\n"}), "cannot be a moment"),
        (with_plan({"shard": "2/x"}), "'2/x' is not a shard"),
        (with_cell({"name": "../a"}), "'../a' cannot be the name of a file"),
        (with_cell({"name": "a\n"}), r"'a\n' cannot be the name of a file"),
        (with_cell({"lock": "etcd\x1b[2J"}), r"'etcd\x1b[2J' cannot be a kind"),
        (with_cell({"storage": "a|b"}), "'a|b' cannot be a kind"),
        (with_cell({"faults": "<b>"}), "'<b>' cannot be a kind"),
        (with_cell({"duration": -1}), "a cannot have the duration -1"),
        (with_job({"cell": "../a"}), "'../a' cannot be the name of a file"),
        (with_job({"seed": -1}), "a-1 cannot have the seed -1"),
        (with_job({"repeat": 2**63}), "cannot have the repeat 9223372036854775808"),
        (with_job({"expected": -1}), "cannot have the expected -1"),
        (with_job({"cell": "b"}), "no campaign plans the run b-1"),
        (with_job({"reproduction": 1}), "no campaign plans the run a-1-again1"),
        (with_result({"verdict": MISTYPED}), "the verdict on a-1 is not one of Fencepost: "),
        (with_result({"verdict": UNKNOWN}), "the verdict on a-1 is not one of Fencepost: "),
        (with_result({"verdict": {"interrupted": None}}), "the verdict on a-1 is not one of Fencepost: "),
        (with_result({"started": "now"}), "results.jsonl:1: 'now' cannot be a moment"),
        (with_result({"seconds": -1.0}), "results.jsonl:1: a-1 cannot have the seconds -1.0"),
        (with_result({"job": msgspec.to_builtins(job(seed=8))}), "its plan has no run a-1 with the seed 8"),
        (with_result({"job": msgspec.to_builtins(job("b"))}), "its plan has no run b-1"),
        (with_result({"job": msgspec.to_builtins(job(reproduction=99))}), "its plan has no run a-1-again99"),
        (with_result({"folder": "../../outside/x"}), "leads outside of its folder"),
        (with_result({"folder": "/etc/ssl/certs"}), "leads outside of its folder"),
        (with_result({"folder": "logs/a/a-1"}), "is outside of runs/"),
        (
            with_result({"folder": "runs/b/b-1"}),
            "the run a-1 cannot be in runs/b/b-1, but in a folder of runs/a",
        ),
        (with_result({"folder": "runs/a"}), "the run a-1 cannot be in runs/a"),
        (with_result({"folder": "runs/a/a-1/events"}), "the run a-1 cannot be in runs/a/a-1/events"),
    ],
)
def test_what_no_campaign_writes_is_refused(tmp_path: Path, shard: Night, change: Change, why: str) -> None:
    change(shard)

    assert why in refused(tmp_path, shard)


@pytest.mark.parametrize("name", ["plan.json", "results.jsonl"])
def test_a_file_with_too_many_values_is_refused(
    tmp_path: Path, shard: Night, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (shard.path / name).write_text("[[]," * 99)
    monkeypatch.setattr(limits, "VALUES", 200)

    assert f"{name}: it has more than 200 values" in refused(tmp_path, shard)


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    made = Night.create(tmp_path / "one", plan(job(), job(repeat=2)), SOURCE)
    made.record(finished(job()))
    made.record(replace(finished(job(repeat=2)), folder="runs/a/a-1"))

    assert "two runs cannot be in the folder runs/a/a-1" in refused(tmp_path, made)


def two(tmp_path: Path, **more: Any) -> list[Night]:
    """Two shards, the second of which has another run."""
    first = Night.create(tmp_path / "one", plan(job(), shard="1/2"), SOURCE)
    second = Night.create(tmp_path / "two", plan(job(repeat=2), **{"shard": "2/2"} | more), SOURCE)
    return [first, second]


def test_the_same_folder_in_two_shards_is_refused(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    one.record(finished(job()))
    other.record(replace(finished(job(repeat=2)), folder="runs/a/a-1"))

    assert "both have the folder runs/a/a-1" in refused(tmp_path, one, other)


def test_a_log_of_another_shard_is_refused(tmp_path: Path) -> None:
    made = two(tmp_path)
    for each in made:
        (each.path / "logs/a-1.log").write_text(str(each.path))

    assert "both have the file logs/a-1.log" in refused(tmp_path, *made)


def test_another_target_under_the_same_name_is_refused(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    rewritten(other, cells=[msgspec.to_builtins(cell()) | {"source": 'name = "a"\nexpect = ["stale-write"]'}])

    assert "its target a is not the one of another shard" in refused(tmp_path, one, other)


def test_a_line_that_a_kill_cut_short_is_not_refused(tmp_path: Path, shard: Night) -> None:
    results = shard.path / "results.jsonl"
    results.write_bytes(results.read_bytes()[:100])

    assert merge([shard.path], tmp_path / "merged").open_jobs() == (job(),)


def test_every_side_is_checked_before_anything_is_written(tmp_path: Path, shard: Night) -> None:
    other = Night.create(tmp_path / "two", plan(job("b")), SOURCE)
    other.record(finished(job("b")))
    folder = other.path / "runs/b/b-1"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "commits.jsonl")

    assert re.search(r"b-1/commits.jsonl: this is a pipe", refused(tmp_path, shard, other))


def test_the_users_campaign_file_is_checked_first(tmp_path: Path, shard: Night) -> None:
    file = shards.campaign(tmp_path, 'name = "nightly"\n')

    with pytest.raises(FencepostError, match="selects nothing to run"):
        merge([shard.path], tmp_path / "merged", file)
    assert not (tmp_path / "merged").exists()


def test_a_plan_of_an_earlier_version_is_read(shard: Night) -> None:
    plan_file = shard.path / "plan.json"
    document = json.loads(plan_file.read_bytes())
    del document["joined"]
    plan_file.write_text(json.dumps(document))

    assert not Night.read(shard.path).plan.joined


def test_a_shard_without_room_on_the_disk_is_refused(
    shard: Night, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3 * limits.MIB))
    for number in (1, 2):
        with_size(f"logs/a-{number}.log", 2 * limits.MIB)(shard)

    assert re.search(r"the shards have 4 MiB, and .*/merged has room for 3 MiB: ", refused(tmp_path, shard))
