"""A night's page as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from harness.campaign.assessment import Assessment
from harness.campaign.night import Night
from harness.campaign.page.page import page
from harness.campaign.page.tones import OF_STATUS
from harness.campaign.stored import Remembered
from harness.core.exit_codes import ExitCode
from harness.report.run import PACKAGE as REPORT
from harness.report.templates import asset, digest, environment

NAME = "index.html"
_PACKAGE = "harness.campaign"
_MINUTE, _HOUR = 60, 3600  # s


def render(
    night: Night, assessment: Assessment, earlier: Sequence[Remembered] | None, exit_code: ExitCode
) -> str:
    """Return the HTML of a night.

    `earlier` are the runs of the nights before it, the oldest first; None if no history was given.
    """
    style = asset(REPORT, "report.css") + asset(_PACKAGE, "night.css")
    templates = environment(_PACKAGE, REPORT)
    templates.filters["took"] = _took
    return templates.get_template("night.html.j2").render(
        page=page(night, assessment, earlier, exit_code),
        tones=OF_STATUS,
        style=style,
        style_hash=digest(style),
    )


def _took(seconds: float | None) -> str:
    """A length of time with the two units that matter."""
    if seconds is None:
        return "–"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"
