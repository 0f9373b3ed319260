"""Shards of a campaign with small real histories, made without any server."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checkers.vocabulary.document import VerdictDocument
from harness.campaign import outputs
from harness.campaign.assessment import Assessment
from harness.campaign.execution import Finished
from harness.campaign.merge import merge
from harness.campaign.night import Night
from harness.campaign.rejudging import NO_HISTORY
from harness.campaign.schedule import Job
from harness.core.exit_codes import of_verdict
from harness.files.run_folder import VERDICT, RunFolder
from harness.run.recheck import judge_recording
from tests.support.campaign_runs import finished, plan, verdict
from tests.support.short_histories import superseded

SOURCE = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["a"]\n'
STALE, FENCED = "ok", "fail"
"""How a write with an older token ends: it is invalid, or the fence refuses it."""


def write_run(folder: Path, of: Job, ends: str = FENCED, **header: Any) -> VerdictDocument:
    """Write what a run leaves, but no reports: its header, its plan, its history, and its verdict."""
    (folder / "events").mkdir(parents=True)
    top = {"fencepost": 1, "target": of.cell, "seed": of.seed, "fenced": True} | header
    (folder / "header.json").write_text(json.dumps(top))
    (folder / "plan.json").write_text(json.dumps({"seed": of.seed, "planned": []}))
    lines = [top, *superseded(ends)]
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    document = judge_recording(folder).document
    RunFolder(folder).write_json(VERDICT, document.as_dict())
    return document


def ended(night: Night, of: Job, ends: str = FENCED, **header: Any) -> Finished:
    """Make a run of a night, and return its result."""
    document = write_run(night.path / str(finished(of).folder), of, ends, **header)
    return finished(of, of_verdict(document), document.as_dict())


def shard(
    nights: Path, *jobs: Job, number: str = "", source: str = SOURCE, ends: Sequence[str] = (), **header: Any
) -> Night:
    """A shard whose runs have ended: fenced, or as `ends` says of each."""
    made = Night.create(nights, plan(*jobs, shard=number), source)
    for at, each in enumerate(jobs):
        made.record(ended(made, each, ends[at] if ends else FENCED, **header))
    return made


def claiming(nights: Path, of: Job, ends: str, claimed: dict[str, Any] | None = None, code: int = 0) -> Night:
    """A shard that says of its only run that it ended in another way than its history shows."""
    made = Night.create(nights, plan(of), SOURCE)
    ended(made, of, ends)
    made.record(finished(of, code, claimed or verdict()))
    return made


def campaign(folder: Path, text: str = SOURCE) -> Path:
    """The user's own campaign file."""
    file = folder / "mine.toml"
    file.write_text(text)
    return file


def rewritten(night: Night, **fields: Any) -> Night:
    """A night whose plan.json has other values."""
    plan_file = night.path / "plan.json"
    document = json.loads(plan_file.read_bytes()) | fields
    plan_file.write_text(json.dumps(document))
    return night


def relined(night: Night, **fields: Any) -> Night:
    """A night whose only result has other values."""
    results = night.path / "results.jsonl"
    document = json.loads(results.read_bytes()) | fields
    results.write_text(json.dumps(document) + "\n")
    return night


def killed_by_a(folder: Path) -> str:
    """Judge a run in another process, which those of the cell a kill."""
    if folder.parent.name == "a":
        os.kill(os.getpid(), signal.SIGKILL)
    return NO_HISTORY


def joined(*of: Night, mine: Path | None = None) -> Night:
    """Join shards beside the first one."""
    return merge([each.path for each in of], of[0].path.parents[2] / "merged", mine)


def written(of: Night, *, allow_unknown: bool = False) -> dict[str, Any]:
    """Write the outputs of a night, and read its document."""
    outputs.write(of, None, allow_unknown=allow_unknown)
    document: dict[str, Any] = json.loads((of.path / outputs.DOCUMENT).read_text())
    return document


def assessed(of: Night) -> Assessment:
    return outputs.assessed(of, None)


def history(of: Night) -> Path:
    return of.path / "runs/a/a-1/history.jsonl"
