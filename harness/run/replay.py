"""Replay of a plan: the seed from which the faults of another run were drawn."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from checkers.errors import HistoryError
from checkers.history import limits
from checkers.history.files import read_bytes
from harness.core.errors import ConfigurationError
from harness.nemesis.plan import plan
from harness.target import Target


def seed_of(path: Path, target: Target) -> int:
    """Return the seed of a plan.json, with which this target gets the same plan again.

    Raises ConfigurationError if it cannot: its faults, its TTL or its duration differ.
    """
    try:
        document = json.loads(read_bytes(path, limits.DOCUMENT))
        seed, planned = document["seed"], document["planned"]
    except (HistoryError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path} is not a plan.json: {error}") from None
    drawn = plan(target.faults, seed, target.lock.ttl, target.workload.duration)
    if json.loads(json.dumps([asdict(each) for each in drawn])) != planned:
        raise ConfigurationError(
            f"{path} is not a plan for {target.name}: with its seed, {seed}, the faults of this target come "
            "at other moments; give the target of the same run (target.toml, or minimal.toml)"
        )
    return int(seed)
