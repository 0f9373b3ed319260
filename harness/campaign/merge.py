"""Several shards of one campaign, joined into one night."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.campaign import campaign_file
from harness.campaign.execution import LOGS
from harness.campaign.night import CAMPAIGN, Night
from harness.campaign.shards import missing
from harness.core.errors import ConfigurationError
from harness.files.private_folder import make_missing


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
    merged = Night.create(nights, plan, (shards[0].path / CAMPAIGN).read_text(encoding="utf-8"))
    for shard in shards:
        for finished in shard.finished():
            if finished.folder:
                _copy(shard.path / finished.folder, merged.path / finished.folder)
            merged.record(finished)
        _copy(shard.path / LOGS, merged.path / LOGS)
    return merged


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


def _copy(folder: Path, to: Path) -> None:
    """Copy the regular files of a folder, which may be from another machine; no link is followed."""
    for file in sorted(folder.rglob("*")):
        inside = (file, *(up for up in file.parents if up == folder or folder in up.parents))
        if file.is_file() and not any(each.is_symlink() for each in inside):
            copied = to / file.relative_to(folder)
            make_missing(copied.parent)
            shutil.copyfile(file, copied)
