"""Campaign files: what they say, and every mistake with its place."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from harness.campaign.campaign_file import Campaign, load
from harness.core.duration import NS
from harness.core.errors import ConfigurationError


def read(folder: Path, text: str) -> Campaign:
    file = folder / "nightly.toml"
    file.write_text(text)
    return load(file)


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as refused:
        read(folder, text)
    return [line.removeprefix(f"{folder}/") for line in str(refused.value).splitlines()]


def test_a_file_says_what_a_night_runs(tmp_path: Path) -> None:
    campaign = read(
        tmp_path,
        """
        name = "nightly"
        budget = "55m"
        repeat = 3
        set = ["workload.duration=10s"]
        [[cells]]
        targets = ["etcd-postgres*"]
        [[matrix]]
        lock = ["etcd"]
        storage = ["redis:script"]
        exclude = [{ lock = "etcd", faults = "pause" }]
        [[quarantine]]
        fingerprint = "4-0123456789ab"
        reason = "known"
        until = 2027-01-31
        """,
    )

    assert campaign.budget == 55 * NS["m"]
    assert campaign.repeat == 3
    assert campaign.changes == ("workload.duration=10s",)
    assert campaign.cells[0].targets == ("etcd-postgres*",)
    assert campaign.matrix[0].faults == ("pause",)
    assert campaign.quarantine[0].until == dt.date(2027, 1, 31)


def test_all_mistakes_are_named_with_their_lines(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        """name = "nightly"
budgit = "55m"
workers = 0
[[cells]]
targets = []
[[matrix]]
lock = ["etcd"]
storage = "redis:script"
[[quarantine]]
fingerprint = "abc"
reason = "known"
until = "2027-01-31"
""",
    )

    assert found == [
        'nightly.toml:2: budgit = "55m": unknown key in a campaign; did you mean budget?',
        'nightly.toml:3: workers = 0: must be "auto", or a number from 1 to 64',
        "nightly.toml:5: cells.0.targets = []: must not be empty",
        'nightly.toml:8: matrix.0.storage = "redis:script": must be a list in brackets, such as ["a", "b"]',
        'nightly.toml:10: quarantine.0.fingerprint = "abc": must be as `campaign` prints it: a number, a dash, and 12 hexadecimal digits',
        'nightly.toml:12: quarantine.0.until = "2027-01-31": must be a date without quotes, such as 2027-01-31',
    ]


def test_a_pipe_is_no_campaign_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "nightly.toml")

    with pytest.raises(ConfigurationError, match=r"nightly\.toml: this is a pipe"):
        load(tmp_path / "nightly.toml")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            'name = "n"\nsett = ["workload.duration=60s"]\n[[cells]]\ntargets = ["a"]',
            "unknown key in a campaign; did you mean set?",
        ),
        ('name = "n"\nseeds = [-1]\n[[cells]]\ntargets = ["a"]', "seeds.0 = -1: must be at least 0"),
        ('name = "n"', "selects nothing to run: add [[cells]] with targets, or a [[matrix]]"),
        (
            'name = "n"\nseeds = [1]\nrepeat = 2\n[[cells]]\ntargets = ["a"]',
            "seeds and repeat exclude each other: give one of them",
        ),
        (
            'name = "n"\nkeep = "some"\n[[cells]]\ntargets = ["a"]',
            'keep = "some": must be "all", "failures", or a number of passed runs of each cell',
        ),
        (
            'name = "n"\nkeep_size = 5\n[[cells]]\ntargets = ["a"]',
            'keep_size = 5: must be a size such as "500MB" or "2GB"',
        ),
        (
            'name = "n"\n[[matrix]]\nlock = ["etcd"]\nstorage = ["redis:none"]\nfaults = ["pauze"]',
            'matrix.0.faults.0 = "pauze": no such fault set; did you mean pause?',
        ),
        (
            'name = "n"\n[[matrix]]\nlock = ["etcd"]\nstorage = ["redis:none"]\nexclude = [{}]',
            "excludes nothing: give lock, storage or faults",
        ),
        (
            'name = "n"\n[cells]\ntargets = ["a"]',
            "cells: must be a list of tables: write [[cells]], in two brackets",
        ),
        (
            'name = "n"\nshrink = 5\n[[cells]]\ntargets = ["a"]',
            'shrink = 5: must be true or false without quotes, or the longest time, such as "10m"',
        ),
        (
            'name = "n"\nshrink = "yes"\n[[cells]]\ntargets = ["a"]',
            'shrink = "yes": must be true or false without quotes, or the longest time, such as "10m"',
        ),
        (
            'name = "n"\ncanary = 5\n[[cells]]\ntargets = ["a"]',
            "canary = 5: must be true or false, or the name of a planted bug; `fencepost zoo` runs all",
        ),
        (
            'name = "n"\nseeds = 5\n[[cells]]\ntargets = ["a"]',
            "seeds = 5: must be a list in brackets, such as [1, 2]",
        ),
    ],
)
def test_a_contradiction_is_named(tmp_path: Path, text: str, mistake: str) -> None:
    (found,) = mistakes(tmp_path, text)

    assert found.endswith(mistake)


@pytest.mark.parametrize(
    ("value", "limit"), [("false", None), ("true", 300 * NS["s"]), ('"90s"', 90 * NS["s"])]
)
def test_shrinking_takes_a_limit_or_its_default(tmp_path: Path, value: str, limit: int | None) -> None:
    assert read(tmp_path, f'name = "n"\nshrink = {value}\n[[cells]]\ntargets = ["a"]').shrink == limit
