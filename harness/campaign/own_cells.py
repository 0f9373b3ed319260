"""Did shards run what the user's own campaign file names, and nothing else?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.campaign.campaign_file import Campaign
from harness.campaign.canary import is_canary
from harness.campaign.cells import CampaignCell, expand
from harness.core.errors import ConfigurationError
from harness.report.sentences import count

_MOST_NAMED = 10


def differences(mine: Campaign, cells: Iterable[CampaignCell], *, whole: bool) -> list[str]:
    """Say how the cells of shards differ from those of a campaign, in a sentence for each kind.

    `whole`: no shard is missing, so that each cell of the campaign should be there.

    Raises ConfigurationError if a target of the campaign cannot be read here.
    """
    own = {cell.name: cell.source for cell in expand(mine).cells}
    ran = {cell.name: cell.source for cell in cells if not is_canary(cell.name)}
    return [
        *_named("the shards have no run of {}, of the campaign file", own.keys() - ran if whole else ()),
        *_named("the shards ran {}, which the campaign file does not have", ran.keys() - own),
        *_named(
            "the shards ran with another text than the campaign file now has: {}",
            (name for name in own.keys() & ran if own[name] != ran[name]),
        ),
    ]


def checked(mine: Campaign | None, cells: Iterable[CampaignCell], *, whole: bool) -> tuple[list[str], str]:
    """How the cells of shards differ from those of the user's campaign file, or why that is not known."""
    try:
        return (differences(mine, cells, whole=whole) if mine else []), ""
    except ConfigurationError as error:
        return [], f"what the shards ran was not compared with the campaign file: {error.lines[0]}"


def _named(sentence: str, names: Iterable[str]) -> Iterator[str]:
    found = sorted(names)
    more = [count(len(found) - _MOST_NAMED, "other")] * (len(found) > _MOST_NAMED)
    if found:
        yield sentence.format(", ".join([*found[:_MOST_NAMED], *more]))
