"""Shards joined with a campaign file: a night that ran something else than the file has is not green."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from harness.campaign.cells import of_file
from harness.campaign.night import Night
from harness.core.exit_codes import ExitCode
from tests.support import shards
from tests.support.campaign_runs import job
from tests.support.shards import campaign, joined, written

CAMPAIGN = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["{}"]\n'
RUNS_MISSING = "the shards have no run of etcd-redis, of the campaign file"
RUNS_MORE = "the shards ran etcd-postgres, which the campaign file does not have"
RUNS_OTHER = "the shards ran with another text than the campaign file now has: etcd-postgres"


def shard(folder: Path, *changes: str, number: str = "") -> Night:
    """A night that ran etcd-postgres, with changed settings if there are any."""
    cell = of_file("etcd-postgres", changes)
    made = shards.shard(folder / "shard", job(cell.name), number=number)
    return shards.rewritten(made, cells=[msgspec.to_builtins(cell)])


def test_a_night_of_the_campaigns_own_cells_is_green(tmp_path: Path) -> None:
    document = written(joined(shard(tmp_path), mine=campaign(tmp_path, CAMPAIGN.format("etcd-postgres"))))

    assert (document["exit_code"], document["notices"]) == (ExitCode.AS_EXPECTED, [])


@pytest.mark.parametrize(
    ("changes", "mine", "said"),
    [
        (["workload.duration=50s"], "etcd-postgres", [RUNS_OTHER]),
        ([], "etcd-redis", [RUNS_MISSING, RUNS_MORE]),
        ([], 'etcd-postgres", "etcd-redis', [RUNS_MISSING]),
    ],
)
def test_a_night_of_other_cells_is_not_green(
    tmp_path: Path, changes: list[str], mine: str, said: list[str]
) -> None:
    merged = joined(shard(tmp_path, *changes), mine=campaign(tmp_path, CAMPAIGN.format(mine)))

    document = written(merged, allow_unknown=True)

    assert document["notices"] == said
    assert document["exit_code"] == ExitCode.INFRASTRUCTURE
    assert document["headline"].startswith("OTHER CELLS THAN THE CAMPAIGN'S, ")


def test_what_a_missing_shard_may_have_run_is_not_missed_twice(tmp_path: Path) -> None:
    mine = campaign(tmp_path, CAMPAIGN.format('etcd-postgres", "etcd-redis'))

    document = written(joined(shard(tmp_path, number="1/2"), mine=mine))

    assert document["notices"] == ["shard 2/2 is missing: its runs are not in this night"]


def test_a_target_that_is_not_here_is_said(tmp_path: Path) -> None:
    mine = campaign(tmp_path, CAMPAIGN.format("gone/away.toml"))

    (notice,) = written(joined(shard(tmp_path), mine=mine))["notices"]

    assert notice.startswith("what the shards ran was not compared with the campaign file: ")
    assert 'mine.toml:4: cells.0.targets.0 = "gone/away.toml": there is no file' in notice
