"""A campaign that is interrupted ends its runs, even one that is only about to start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Never

import pytest

from harness.campaign import execution
from harness.campaign.campaign import CampaignRunner
from harness.campaign.night import Night
from tests.support.campaign_runs import job, plan

SOURCE = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["a"]\n'
LONG = [sys.executable, "-c", "import time; time.sleep(300)"]


def interrupt(_event: object) -> Never:
    raise KeyboardInterrupt


@pytest.mark.timeout(60)
def test_a_run_that_has_not_started_yet_is_interrupted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "dies_with_us", lambda _arguments: LONG)
    night = Night.create(tmp_path, plan(job("a")), SOURCE)
    work = CampaignRunner(night, workers=1, budget=None, fail_fast=False, notify=interrupt)

    with pytest.raises(KeyboardInterrupt):
        work.run()

    assert night.finished() == ()
