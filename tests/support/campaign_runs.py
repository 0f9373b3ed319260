"""Runs of a campaign as its parts see them, without any server."""

from __future__ import annotations

import datetime as dt
from typing import Any

from checkers.vocabulary.document import FindingDocument
from harness.campaign.cells import CampaignCell
from harness.campaign.execution import Finished
from harness.campaign.night import NightPlan
from harness.campaign.results import StoredRun
from harness.campaign.schedule import Job
from harness.campaign.status import RunOutcome
from harness.core.duration import NS
from tests.support.verdicts import verdict_of

TODAY = dt.date(2026, 11, 22)
STARTED = "2026-11-22T03:00:00+00:00"
STEPS = ["one", "so the other"]


def cell(name: str = "a", *, duration: int = 20) -> CampaignCell:
    """A cell whose workload takes `duration` seconds."""
    return CampaignCell(
        name=name,
        lock="etcd",
        storage="postgres:none",
        faults="pause",
        duration=duration * NS["s"],
        source=f'name = "{name}"\n',
    )


def job(name: str = "a", repeat: int = 1, seed: int = 7, reproduction: int = 0, expected: int = 30) -> Job:
    """A run that is expected to take this many seconds."""
    return Job(cell=name, repeat=repeat, seed=seed, expected=expected * NS["s"], reproduction=reproduction)


def verdict(
    *summaries: str, anomaly: str = "stale-write", rule: str = "after-newer", **more: Any
) -> dict[str, Any]:
    """A verdict document with a finding for each sentence; without one it is valid.

    What else is given belongs to each finding, where it has such a field, or to the verdict.
    """
    own = {name: more.pop(name) for name in FindingDocument.__struct_fields__ if name in more}
    fields = {
        "verdict": "invalid" if summaries else "valid",
        "as_expected": not summaries,
        "reasons": [f"found {anomaly}, which was not expected"] if summaries else [],
        "findings": [
            {"anomaly": anomaly, "rule": rule, "resource": "r0", "summary": summary, "steps": STEPS} | own
            for summary in summaries
        ],
        "interrupted": None,
    } | more
    return verdict_of(fields).as_dict()


def finished(
    of: Job, exit_code: int = 0, document: dict[str, Any] | None = None, message: str = "", error: str = ""
) -> Finished:
    """A run that has ended; by its exit code, with or without a verdict."""
    has_verdict = exit_code in {0, 1, 2}
    return Finished(
        job=of,
        exit_code=exit_code,
        started=STARTED,
        seconds=25.0,
        folder=f"runs/{of.cell}/{of.id}" if has_verdict else None,
        verdict=(document or verdict()) if has_verdict else None,
        message=message,
        error=error,
    )


def stored(cell: str = "a", outcome: RunOutcome = RunOutcome.PASSED, **more: Any) -> StoredRun:
    """A run as the results of all nights keep it."""
    fields = {"repeat": 1, "reproduction": 0, "seed": 7, "started": STARTED, "seconds": 20.0}
    fields |= {"verdict": "valid", "fingerprint": None, "folder": None}
    return StoredRun(cell=cell, outcome=outcome, **fields | more)


def plan(*jobs: Job, campaign: str = "nightly", started: str = STARTED, shard: str = "") -> NightPlan:
    """The plan of a night with these runs."""
    return NightPlan(
        campaign=campaign,
        started=started,
        engine="local",
        fencepost="0.1.0",
        git_commit=None,
        shard=shard,
        cells=[cell(name) for name in dict.fromkeys(each.cell for each in jobs)],
        jobs=list(jobs),
    )
