"""The canary of a night: a planted bug of the zoo, which the night must find, and its correct twin.

A night that does not find a bug that is certainly there has proved nothing, so it fails.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from harness.campaign.campaign_file import Campaign
from harness.campaign.cells import CampaignCell, of_file
from harness.core.errors import ConfigurationError
from harness.core.suggestions import near_or
from harness.spec.reading import zoo

TWIN = "-twin"
LISTED = "docs/zoo.md lists all"
PREFIX = "canary-"

DEFAULTS = (
    "check-then-write",
    "code-path-without-the-token",
    "equality-fence",
    "fence-counter-deleted",
    "guard-in-sub-select",
    "lease-id-token",
    "sequence-number-token",
    "string-comparison-of-tokens",
)
"""A different one each day: all are quick, and pauses alone find them on both engines.

Their servers differ, so that most machines can run one of them: a bare Python has etcd alone.
"""


def bugs() -> Sequence[str]:
    """Return the names of all planted bugs."""
    files = zoo()
    return [name for name in files if f"{name}{TWIN}" in files]


def chosen(campaign: Campaign, day: dt.date, can_run: Callable[[str], bool] = lambda _bug: True) -> str:
    """Return the bug that a campaign names, or the first from today's on that can run; "" for none.

    If none can run, it is today's: a night without a canary that should have one fails.

    Raises ConfigurationError if the zoo has no such bug.
    """
    canary = campaign.canary
    if isinstance(canary, bool):
        return next(filter(can_run, of_day(day)), of_day(day)[0]) if canary else ""
    if canary not in bugs():
        why = f"the zoo has no such bug{near_or(canary, bugs(), LISTED)}"
        raise ConfigurationError(campaign.at(("canary",), why))
    return canary


def of_day(day: dt.date) -> Sequence[str]:
    """Return the bugs in the order of their days, today's first."""
    first = day.toordinal() % len(DEFAULTS)
    return DEFAULTS[first:] + DEFAULTS[:first]


def cells(bug: str) -> tuple[CampaignCell, CampaignCell]:
    """Return the bug and its twin as cells, under separate names."""
    first, second = (of_file(str(zoo()[name]), [f"name={PREFIX}{name}"]) for name in (bug, bug + TWIN))
    return first, second


def is_canary(cell: str) -> bool:
    """Does a cell belong to the canary?"""
    return cell.startswith(PREFIX)
