"""Three shards, each a night of its own, joined: the same as one night of all runs."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.errors import HistoryError
from harness.campaign import outputs
from harness.campaign.assessment import assess
from harness.campaign.execution import Finished
from harness.campaign.merge import merge
from harness.campaign.night import Night
from harness.campaign.schedule import Job, jobs, shard
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import TODAY, cell, finished, job, plan, verdict

SOURCE = 'name = "nightly"\n[[cells]]\ntargets = ["a"]\n'
CELLS = [cell(name, duration=20 + 7 * at) for at, name in enumerate("abcdefg")]
STALE = verdict("Client 0 wrote 'x' too late")
ENDS = {0: 0, 1: 1, 2: 2, 3: 3}  # of a run, by its seed


def run(job: Job) -> Finished:
    """The same end for the same seed, wherever it was run."""
    code = ENDS.get(job.seed % 7, 0)
    return finished(job, code, STALE if code == 1 else None)


def night(folder: Path, planned: tuple[Job, ...], number: str = "") -> Night:
    made = Night.create(folder, plan(*planned, shard=number), SOURCE)
    for each in planned:
        made.record(run(each))
    return made


def written(of: Night) -> dict[str, Any]:
    outputs.write(of, None, allow_unknown=False)
    document = json.loads((of.path / outputs.DOCUMENT).read_text())
    runs = {each["name"]: sorted(each.pop("runs"), key=str) for each in document["cells"]}
    shown = {each["name"]: each for each in document["cells"]}
    return {"code": document["exit_code"], "headline": document["headline"], "cells": shown, "runs": runs}


def test_three_shards_joined_are_one_night(tmp_path: Path) -> None:
    everything = jobs(CELLS, seeds=None, repeat=3, past={}, known={}, rng=random.Random(1))
    parts = [shard(everything, number, 3) for number in (1, 2, 3)]
    shards = [
        night(tmp_path / str(number), part, f"{number}/3") for number, part in enumerate(parts, start=1)
    ]

    merged = merge([each.path for each in shards], tmp_path / "merged")

    assert all(parts)
    whole = written(night(tmp_path / "whole", everything))
    assert without_folders(written(merged), merged) == without_folders(whole, night_of(tmp_path / "whole"))
    assert whole["code"] == 1


def three_shards(folder: Path) -> list[Night]:
    everything = jobs(CELLS, seeds=None, repeat=1, past={}, known={}, rng=random.Random(1))
    return [night(folder / str(each), shard(everything, each, 3), f"{each}/3") for each in (1, 2, 3)]


def test_a_missing_shard_makes_the_night_fail_and_is_named(tmp_path: Path) -> None:
    one, _, three = three_shards(tmp_path)

    merged = merge([three.path, one.path], tmp_path / "merged")

    assessment, code = outputs.write(merged, None, allow_unknown=True)
    document = json.loads((merged.path / outputs.DOCUMENT).read_text())
    assert assessment.missing == ("2/3",)
    assert document["headline"].startswith("SHARD 2/3 MISSING, ")
    assert document["notices"] == ["shard 2/3 is missing: its runs are not in this night"]
    assert code != ExitCode.AS_EXPECTED
    assert "Shard 2/3 is missing: its runs are not in this night." in (merged.path / "index.html").read_text()


def test_a_missing_shard_is_an_infrastructure_failure() -> None:
    made = msgspec.structs.replace(plan(job()), missing=["2/3"])

    assessment = assess(made, [finished(job())], before={}, quarantine=(), today=TODAY)

    assert assessment.exit_code(allow_unknown=True) is ExitCode.INFRASTRUCTURE


def test_the_logs_of_the_shards_are_kept(tmp_path: Path) -> None:
    shards = three_shards(tmp_path)
    (shards[0].path / "logs/a-1.log").write_text("etcd-1 did not get healthy")

    merged = merge([each.path for each in shards], tmp_path / "merged")

    assert {file.name for file in (merged.path / "logs").iterdir()} == {"a-1.log"}


def test_a_run_behind_a_link_in_a_shard_overwrites_nothing(tmp_path: Path) -> None:
    """Below the shard `a/../../home/victim` is a folder of the shard; below the night it leads out of it."""
    victim = tmp_path / "merged" / "home" / "victim"
    victim.mkdir(parents=True)
    (victim / ".bashrc").write_text("mine")
    (shard, *_) = three_shards(tmp_path)
    evil = shard.path / "runs" / "x" / "y" / "home" / "victim"
    evil.mkdir(parents=True)
    (evil / ".bashrc").write_text("theirs")
    (shard.path / "a").symlink_to("runs/x/y")
    (shard.path / "runs" / "a").symlink_to("x/y")
    for folder in ("a/../../home/victim", "runs/a/home/victim", "runs/../../../home/victim", str(victim)):
        with (shard.path / "results.jsonl").open("w") as results:
            line = replace(finished(shard.plan.jobs[0]), folder=folder)
            results.write(json.dumps(msgspec.to_builtins(line)) + "\n")

        with pytest.raises((ConfigurationError, HistoryError)):
            merge([shard.path], tmp_path / "merged")

        assert [path.name for path in (tmp_path / "merged").rglob("*")] == ["home", "victim", ".bashrc"]
        assert (victim / ".bashrc").read_text() == "mine"


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["1/3", "2/4"], "these are shards of different campaigns: 1/3, 2/4"),
        (["1/3", "4/3"], "these are not shards of one campaign: '4/3' is not a shard"),
        (["1/3", ""], "these are not shards of one campaign: '' is not a shard"),
        (["1/3", "2/1000000000000"], "'2/1000000000000' is not a shard"),
    ],
)
def test_folders_that_do_not_belong_together_are_refused(tmp_path: Path, names: list[str], why: str) -> None:
    nights = [
        night(tmp_path / str(number), (job(repeat=number),), name)
        for number, name in enumerate(names, start=1)
    ]

    with pytest.raises(ConfigurationError, match=re.escape(why)):
        merge([each.path for each in nights], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_folder_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    one = three_shards(tmp_path)[0]

    with pytest.raises(ConfigurationError, match="named twice"):
        merge([one.path, one.path.parent / "latest"], tmp_path / "merged")


def night_of(nights: Path) -> Night:
    return Night.latest(nights, "nightly")


def without_folders(document: dict[str, Any], of: Night) -> Any:
    """Commands name the folder of their night."""
    return json.loads(json.dumps(document).replace(str(of.path), "NIGHT"))


def test_a_folder_without_its_campaign_file_is_refused(tmp_path: Path) -> None:
    one = three_shards(tmp_path)[0]
    (one.path / "campaign.toml").unlink()

    with pytest.raises(ConfigurationError, match=r"campaign\.toml: there is no such file"):
        merge([one.path], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
