"""Three shards, each a night of its own, joined: the same as one night of all runs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from harness.campaign import outputs
from harness.campaign.execution import Finished
from harness.campaign.merge import merge
from harness.campaign.night import Night
from harness.campaign.schedule import Job, jobs, shard
from tests.support.campaign_runs import cell, finished, plan, verdict

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
    for job in planned:
        made.record(run(job))
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


def night_of(nights: Path) -> Night:
    return Night.latest(nights, "nightly")


def without_folders(document: dict[str, Any], of: Night) -> Any:
    """Commands name the folder of their night."""
    return json.loads(json.dumps(document).replace(str(of.path), "NIGHT"))
