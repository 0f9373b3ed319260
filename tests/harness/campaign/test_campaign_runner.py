"""A campaign repeats a failing run, once for each fingerprint, and ends its runs when it is interrupted."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Never

import pytest

from harness.campaign import campaign as campaigns
from harness.campaign import execution
from harness.campaign.campaign import CampaignProgress, CampaignRunner
from harness.campaign.execution import Finished, Order
from harness.campaign.night import Night
from tests.support.campaign_runs import finished, job, plan, verdict

SOURCE = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["a"]\n'
JOBS = tuple(job(repeat=number, seed=number) for number in (1, 2, 3, 4))
RULES = {1: "after-newer", 2: "after-newer", 3: "after-fence"}  # of the failing seeds


def make(order: Order) -> Finished:
    rule = RULES.get(order.job.seed)
    return finished(order.job, 1, verdict("too late", rule=rule)) if rule else finished(order.job)


def made(night: Night, events: list[Any]) -> list[str]:
    """Make the open runs of a night, one after another, and return the names of all."""
    with ThreadPoolExecutor(1) as executor:
        CampaignRunner(
            night, workers=1, budget=None, fail_fast=False, notify=events.append, executor=executor
        ).run()
    return [each.job.id for each in night.finished()]


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    monkeypatch.setattr(campaigns, "execute", make)
    return Night.create(tmp_path, plan(*JOBS), SOURCE)


EACH_FINGERPRINT = ["a-1", "a-1-again1", "a-1-again2", "a-1-again3", "a-2"]
EACH_FINGERPRINT += ["a-3", "a-3-again1", "a-3-again2", "a-3-again3", "a-4"]


def test_the_first_failure_of_each_fingerprint_is_repeated(night: Night) -> None:
    assert made(night, []) == EACH_FINGERPRINT


def test_a_resumed_night_repeats_each_fingerprint_once(night: Night) -> None:
    for each in (JOBS[0], job(repeat=1, seed=1, reproduction=1), JOBS[1]):
        night.record(make(Order(job=each, night=night.path, engine="local")))

    assert sorted(made(night, [])) == EACH_FINGERPRINT


def test_the_time_left_counts_the_repetitions_of_a_run_that_failed(night: Night) -> None:
    events: list[Any] = []

    made(night, events)

    at = next(n for n, event in enumerate(events) if isinstance(event, Finished))
    assert events[at].job.id == "a-1"
    assert events[at - 1].expected == (3 + 3) * JOBS[0].expected  # repetitions, and runs


def test_progress_counts_runs_and_no_repetitions(night: Night) -> None:
    events: list[Any] = []

    made(night, events)

    progress = [event for event in events if isinstance(event, CampaignProgress)]
    assert {each.done + each.left for each in progress} == {4}
    assert (progress[-1].done, progress[-1].left, progress[-1].failed) == (4, 0, 3)


LONG = [sys.executable, "-c", "import time; time.sleep(300)"]


def interrupt(_event: object) -> Never:
    raise KeyboardInterrupt


@pytest.mark.timeout(60)
def test_a_run_that_has_not_started_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "dies_with_us", lambda _arguments: LONG)
    night = Night.create(tmp_path, plan(job("a")), SOURCE)
    work = CampaignRunner(night, workers=1, budget=None, fail_fast=False, notify=interrupt)

    with pytest.raises(KeyboardInterrupt):
        work.run()

    assert night.finished() == ()
