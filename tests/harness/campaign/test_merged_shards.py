"""Three shards, each a night of its own, joined: the same as one night of all runs, judged here."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.campaign import outputs
from harness.campaign.assessment import NO_CAMPAIGN, assess
from harness.campaign.merge import merge
from harness.campaign.night import Night
from harness.campaign.schedule import Job, jobs, shard
from harness.core.errors import ConfigurationError, HistoryError
from harness.core.exit_codes import ExitCode
from tests.support import shards
from tests.support.campaign_runs import TODAY, cell, finished, job, plan
from tests.support.command import fencepost
from tests.support.shards import FENCED, SOURCE, STALE, assessed, campaign, ended, history, joined, written

CELLS = [cell(name, duration=20 + 7 * at) for at, name in enumerate("abcd")]
QUARANTINE = """
[[quarantine]]
fingerprint = "{}"
reason = "issue 7"
until = 2099-01-01
"""


def night(folder: Path, planned: tuple[Job, ...], number: str = "") -> Night:
    """A night in which `a` is stale, and `d` has no server."""
    made = Night.create(folder, plan(*planned, shard=number), SOURCE)
    for each in planned:
        if each.cell == "d":
            made.record(finished(each, 3, message="no server"))
        else:
            made.record(ended(made, each, STALE if each.cell == "a" else FENCED))
    return made


def three_shards(folder: Path, repeat: int = 1) -> list[Night]:
    everything = jobs(CELLS, seeds=None, repeat=repeat, past={}, known={}, rng=random.Random(1))
    return [night(folder / str(each), shard(everything, each, 3), f"{each}/3") for each in (1, 2, 3)]


def comparable(of: Night) -> Any:
    """A night as its document has it; commands name its folder, and no campaign file has its cells."""
    document = json.loads(json.dumps(written(of)).replace(str(of.path), "NIGHT"))
    document["notices"] = [each for each in document["notices"] if "was not compared" not in each]
    for each in document["cells"]:
        each["runs"].sort(key=str)
    document["cells"].sort(key=str)
    return document


@pytest.mark.slow
def test_three_shards_joined_are_one_night(tmp_path: Path) -> None:
    everything = jobs(CELLS, seeds=None, repeat=2, past={}, known={}, rng=random.Random(1))

    merged = joined(*three_shards(tmp_path, repeat=2), mine=campaign(tmp_path))

    whole = comparable(night(tmp_path / "whole", everything))
    assert comparable(merged) == whole
    assert whole["exit_code"] == ExitCode.VIOLATION


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commits", "tested"), [(("c01dbee", "c01dbee"), "c01dbee"), (("c01dbee", "61bfca3"), None)]
)
def test_shards_of_one_commit_tested_it(tmp_path: Path, commits: tuple[str, str], tested: str | None) -> None:
    made = [
        shards.rewritten(
            shards.shard(tmp_path / str(number), job(repeat=number), number=f"{number}/2"),
            tested_commit=commit,
        )
        for number, commit in enumerate(commits, start=1)
    ]

    assert joined(*made, mine=campaign(tmp_path)).plan.tested_commit == tested


@pytest.mark.slow
def test_a_missing_shard_makes_the_night_fail_and_is_named(tmp_path: Path) -> None:
    one, _, three = three_shards(tmp_path)

    merged = joined(three, one, mine=campaign(tmp_path))

    document = written(merged)
    assert assessed(merged).plan.missing == ["2/3"]
    assert document["headline"].startswith("SHARD 2/3 MISSING, ")
    assert document["notices"][:1] == ["shard 2/3 is missing: its runs are not in this night"]
    assert document["exit_code"] != ExitCode.AS_EXPECTED
    assert "Shard 2/3 is missing: its runs are not in this night." in (merged.path / "index.html").read_text()


def test_a_missing_shard_is_an_infrastructure_failure() -> None:
    made = msgspec.structs.replace(plan(job()), missing=["2/3"])

    assessment = assess(made, [finished(job())], before={}, quarantine=(), today=TODAY)

    assert assessment.exit_code(allow_unknown=True) is ExitCode.INFRASTRUCTURE


def test_the_logs_of_the_shards_are_kept(tmp_path: Path) -> None:
    one, two, three = three_shards(tmp_path)
    (one.path / "logs/a-1.log").write_text("etcd-1 did not get healthy")

    merged = joined(one, two, three)

    assert {file.name for file in (merged.path / "logs").iterdir()} == {"a-1.log"}


def test_a_run_behind_a_link_in_a_shard_overwrites_nothing(tmp_path: Path) -> None:
    """Below the shard `a/../../home/victim` is a folder of the shard; below the night it leads out of it."""
    victim = tmp_path / "merged" / "home" / "victim"
    victim.mkdir(parents=True)
    (victim / ".bashrc").write_text("mine")
    shard = shards.shard(tmp_path / "one", job())
    evil = shard.path / "runs" / "x" / "y" / "home" / "victim"
    evil.mkdir(parents=True)
    (evil / ".bashrc").write_text("theirs")
    (shard.path / "a").symlink_to("runs/x/y")
    (shard.path / "runs" / "b").symlink_to("x/y")
    for folder in ("a/../../home/victim", "runs/b/home/victim", "runs/../../../home/victim", str(victim)):
        shards.relined(shard, folder=folder)

        with pytest.raises((ConfigurationError, HistoryError)):
            merge([shard.path], tmp_path / "merged")

        assert [path.name for path in (tmp_path / "merged").rglob("*")] == ["home", "victim", ".bashrc"]
        assert (victim / ".bashrc").read_text() == "mine"


@pytest.mark.slow
def test_the_quarantine_of_a_shard_hides_nothing(tmp_path: Path) -> None:
    two = shards.shard(tmp_path / "two", job("b"), number="2/2", ends=[STALE])
    (run,) = assessed(two).runs
    hiding = SOURCE + QUARANTINE.format(run.fingerprint)
    one = shards.shard(tmp_path / "one", job("a"), number="1/2", source=hiding)

    assert written(joined(one, two))["exit_code"] == ExitCode.VIOLATION
    assert written(joined(one, two, mine=campaign(tmp_path)))["exit_code"] == ExitCode.VIOLATION


def test_the_users_own_quarantine_holds(tmp_path: Path) -> None:
    shard = shards.shard(tmp_path / "one", job(), ends=[STALE])
    (run,) = assessed(shard).runs

    document = written(joined(shard, mine=campaign(tmp_path, SOURCE + QUARANTINE.format(run.fingerprint))))

    assert document["cells"][0]["status"] == "quarantined"
    assert document["exit_code"] == ExitCode.AS_EXPECTED


@pytest.mark.slow
def test_without_a_campaign_file_every_output_says_so(tmp_path: Path) -> None:
    shard = shards.shard(tmp_path / "one", job())

    done = fencepost(tmp_path, "campaign", "merge", shard.path)

    merged = tmp_path / "nights/nightly/latest"
    said = NO_CAMPAIGN[1:]
    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    assert said in done.stdout
    assert said in (merged / "summary.md").read_text()
    assert said in (merged / "index.html").read_text()
    assert not (merged / "campaign.toml").exists()


@pytest.mark.slow
def test_joining_shards_runs_nothing_that_they_name(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(ran)!r}, 'w')\nclass Lock: pass\nclass Storage: pass\n")
    target = (
        'name = "a"\nexpect = "valid"\n[lock]\nkind = "evil:Lock"\n'
        '[storage]\nkind = "evil:Storage"\nfencing = "yes"\n'
        f'[client]\ncommand = ["touch", "{ran}"]\n'
    )
    shard = shards.shard(tmp_path / "one", job())
    (shard.path / "runs/a/a-1/target.toml").write_text(target)
    shards.rewritten(shard, cells=[msgspec.to_builtins(cell()) | {"source": target}])

    done = fencepost(tmp_path, "campaign", "merge", shard.path)

    assert (tmp_path / "nights/nightly/latest/summary.md").exists(), done.stderr
    assert not ran.exists()


@pytest.mark.slow
def test_with_a_campaign_file_the_command_says_nothing_about_it(tmp_path: Path) -> None:
    shard = shards.shard(tmp_path / "one", job())

    done = fencepost(tmp_path, "campaign", "merge", "--campaign", campaign(tmp_path), shard.path)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    assert NO_CAMPAIGN[1:] not in done.stdout
    assert (tmp_path / "nights/nightly/latest/campaign.toml").read_text() == SOURCE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mine", "is_kept"), [(f'keep = "failures"\n{SOURCE}', False), (SOURCE, True), (None, True)]
)
def test_only_the_users_file_decides_what_is_kept(tmp_path: Path, mine: str | None, is_kept: bool) -> None:
    earlier = shards.shard(tmp_path / "merged", job())
    shard = shards.shard(tmp_path / "one", job(), source=f'keep = "failures"\n{SOURCE}')

    merged = joined(shard, mine=campaign(tmp_path, mine) if mine else None)
    outputs.write(merged, None, allow_unknown=False)

    assert [history(each).exists() for each in (earlier, merged)] == [is_kept, is_kept]


def test_a_shard_keeps_every_history(tmp_path: Path) -> None:
    source = f'keep = "failures"\nkeep_size = "1MB"\n{SOURCE}'
    shard = shards.shard(tmp_path, job(), number="1/2", source=source)
    whole = shards.shard(tmp_path, job(), source=source)

    outputs.write(shard, None, allow_unknown=False)
    outputs.write(whole, None, allow_unknown=False)

    assert history(shard).exists()
    assert not history(whole).exists()


def test_joined_shards_are_not_resumed(tmp_path: Path) -> None:
    shard = shards.shard(tmp_path / "one", job())
    merged = joined(shard)
    nights = merged.path.parents[1]

    with pytest.raises(ConfigurationError, match="has no night of nightly to resume"):
        Night.latest(nights, "nightly")

    older = nights / "nightly" / "20200101T000000-abcdef"
    shutil.copytree(shard.path, older)
    assert Night.latest(nights, "nightly").path == older


def test_a_target_file_of_another_machine_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "a"\n')
    shard = shards.shard(tmp_path / "one", job(), ends=[STALE])
    cells = [msgspec.to_builtins(each) | {"file": str(tmp_path / "mine.toml")} for each in shard.plan.cells]

    assert [each.file for each in joined(shards.rewritten(shard, cells=cells)).plan.cells] == [""]


@pytest.mark.parametrize(
    ("canary", "why"),
    [
        ("equality-fence", "equality-fence was not run; equality-fence-twin was not run"),
        ("", "check-then-write was not run; check-then-write-twin was not run"),
    ],
)
def test_a_shard_cannot_leave_out_the_canary(tmp_path: Path, canary: str, why: str) -> None:
    shard = shards.rewritten(shards.shard(tmp_path / "one", job()), canary=canary)
    mine = campaign(tmp_path, SOURCE.replace("false", "true" if canary else '"check-then-write"'))

    night = assessed(joined(shard, mine=mine))

    assert night.canary
    assert night.canary.missed == why
    assert night.exit_code(allow_unknown=True) is ExitCode.VIOLATION


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["1/3", "2/4"], "these are shards of different campaigns: 1/3, 2/4"),
        (["1/3", "4/3"], "these are not shards of one campaign: '4/3' is not a shard"),
        (["1/3", ""], "these are not shards of one campaign: '' is not a shard"),
        (["1/3", "2/1000000000000"], "'2/1000000000000' is not a shard"),
        (["1/3", "01/3"], "these are not shards of one campaign: 1/3 is there twice"),
    ],
)
def test_folders_that_do_not_belong_together_are_refused(tmp_path: Path, names: list[str], why: str) -> None:
    nights = [
        Night.create(tmp_path / str(number), plan(job(repeat=number), shard=name), SOURCE)
        for number, name in enumerate(names, start=1)
    ]

    with pytest.raises(ConfigurationError, match=re.escape(why)):
        joined(*nights)
    assert not (tmp_path / "merged").exists()


def test_a_folder_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    one = shards.shard(tmp_path / "one", job())

    with pytest.raises(ConfigurationError, match="named twice"):
        merge([one.path, one.path.parent / "latest"], tmp_path / "merged")


def test_shards_of_another_campaign_are_refused(tmp_path: Path) -> None:
    mine = campaign(tmp_path, SOURCE.replace("nightly", "weekly"))

    with pytest.raises(ConfigurationError, match=r"shards of the campaign nightly, but .* is of weekly"):
        joined(shards.shard(tmp_path / "one", job()), mine=mine)
    assert not (tmp_path / "merged").exists()


def test_the_campaign_file_of_a_shard_is_not_read(tmp_path: Path) -> None:
    shard = shards.shard(tmp_path / "one", job())
    (shard.path / "campaign.toml").unlink()

    assert written(joined(shard))["exit_code"] == ExitCode.AS_EXPECTED
