"""Several shards of one campaign, joined into one night."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from checkers.history import limits
from harness.campaign import campaign_file
from harness.campaign.execution import LOGS
from harness.campaign.night import CAMPAIGN, RESULTS, Night
from harness.campaign.shards import missing
from harness.core.errors import ConfigurationError
from harness.files import received
from harness.files.received import components


def merge(folders: Sequence[Path], nights: Path) -> Night:
    """Copy the runs of several nights into a new one, and return it. The shards are not changed.

    The new one names the shards that are missing. Raises ConfigurationError if a folder is incomplete,
    or if they are not shards of one campaign.
    """
    shards = [Night.read(folder) for folder in folders]
    _check(shards)
    first = shards[0].plan
    plan = msgspec.structs.replace(
        first,
        started=min(shard.plan.started for shard in shards),
        shard="",
        missing=missing([shard.plan.shard for shard in shards]),
        canary=next((shard.plan.canary for shard in shards if shard.plan.canary), ""),
        cells=list({cell.name: cell for shard in shards for cell in shard.plan.cells}.values()),
        jobs=[job for shard in shards for job in shard.plan.jobs],
    )
    copied = [(shard, _files(shard)) for shard in shards]
    merged = Night.create(nights, plan, shards[0].source)
    for shard, files in copied:
        for names in files:
            received.copy(shard.path, names, merged.path, most=limits.HISTORY)
        for finished in shard.finished():
            merged.record(finished)
    return merged


def _files(shard: Night) -> list[tuple[str, ...]]:
    """Return the components of the files of a shard's runs, and of their logs."""
    folders = [components(each.folder, RESULTS) for each in shard.finished() if each.folder]
    return [
        file
        for names in (*folders, (LOGS,))
        for file in received.regular_files(shard.path, *names, most=limits.HISTORY)
    ]


def _check(shards: Sequence[Night]) -> None:
    names = {shard.plan.campaign for shard in shards}
    if len(names) > 1:
        raise ConfigurationError(f"these are shards of different campaigns: {', '.join(sorted(names))}")
    if len({shard.path.resolve() for shard in shards}) < len(shards):
        raise ConfigurationError("a folder is named twice: name each shard once")
    for shard in shards:
        campaign_file.load(shard.path / CAMPAIGN)
    seen: dict[str, Path] = {}
    for shard in shards:
        for job in shard.plan.jobs:
            other = seen.setdefault(job.id, shard.path)
            if other != shard.path:
                raise ConfigurationError(
                    f"{other} and {shard.path} both have the run {job.id}: they are not shards of one call"
                )
