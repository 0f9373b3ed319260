"""Reports a night to GitHub Actions, if a workflow runs it."""

from __future__ import annotations

import os
from pathlib import Path

from harness.campaign.assessment import Assessment
from harness.campaign.github import annotate, append_summary, warn
from harness.campaign.issues import issues
from harness.campaign.night import Night
from harness.campaign.outputs import repository
from harness.campaign.summary import markdown
from harness.cli.campaign_screen import CampaignScreen
from harness.core.printing import pass_on, say


def tell_github(screen: CampaignScreen, assessment: Assessment, night: Night, *, allow_unknown: bool) -> None:
    """Add the night to the job's summary, and annotate the lines of its files."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            append_summary(Path(file), markdown(night, assessment))
        except OSError as error:
            say(f"the job's summary stays as it is: {file}: {error.strerror}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        commands = (
            *annotate(issues(night, assessment), repository(), allow_unknown=allow_unknown),
            *warn(assessment),
        )
        pass_on((f"{command}\n" for command in commands), screen.stream)
