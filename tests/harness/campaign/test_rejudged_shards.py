"""Shards, joined: each history is judged again, and cells that the campaign does not have are named."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.campaign import outputs, rejudging
from harness.campaign.cells import of_file
from harness.campaign.night import Night
from harness.campaign.results import Results
from harness.campaign.schedule import Job
from harness.campaign.status import RunOutcome
from harness.campaign.summary import lines
from harness.core.exit_codes import ExitCode
from tests.support import shards
from tests.support.campaign_runs import job, verdict
from tests.support.shards import FENCED, STALE, assessed, campaign, claiming, history, joined, written


def test_a_violation_that_its_shard_calls_valid_is_a_violation(tmp_path: Path) -> None:
    shard = claiming(tmp_path / "one", job(), STALE)

    document = written(joined(shard, mine=campaign(tmp_path)))

    (run,) = document["cells"][0]["runs"]
    assert (run["outcome"], run["verdict"], document["exit_code"]) == ("failed", "invalid", 1)
    assert run["fingerprint"]
    assert (
        run["differences"]
        == "invalid, was valid; stale-write ×1, double-belief ×1, was none; exit code 1, was 0"
    )


@pytest.mark.slow
def test_a_violation_that_only_its_shard_sees_is_none(tmp_path: Path) -> None:
    shard = claiming(tmp_path / "one", job(), FENCED, verdict("too late"), 1)

    merged = joined(shard, mine=campaign(tmp_path))

    (run,) = assessed(merged).runs
    assert (run.outcome, run.fingerprint) == (RunOutcome.PASSED, None)
    assert run.finished.differences == "valid, was invalid; double-belief ×1, was none; exit code 0, was 1"


def test_a_difference_is_said_everywhere(tmp_path: Path) -> None:
    merged = joined(claiming(tmp_path / "one", job(), STALE), mine=campaign(tmp_path))

    said = "a-1 is no longer what its shard says: invalid, was valid"
    assert said in written(merged)["notices"][0]
    assert said in (merged.path / "summary.md").read_text().replace("`", "")
    assert said in (merged.path / "index.html").read_text()
    assert said in "\n".join(lines(assessed(merged)))


def test_words_of_a_shard_begin_no_line(tmp_path: Path) -> None:
    forged = {"anomalies": {"x\n::error::forged": 1}}
    one = claiming(tmp_path / "one", job("a"), FENCED, verdict() | forged)
    two = shards.shard(tmp_path / "two", job("b"), target="x\n::error::forged\x1b[2J")

    merged = joined(one, two)

    written(merged)
    said = "\n".join([*lines(assessed(merged)), (merged.path / "summary.md").read_text()])
    assert "forged" in said
    assert not any(line.startswith("::") or "\x1b" in line for line in said.splitlines())


def test_what_a_judgment_writes_is_not_taken_from_a_shard(tmp_path: Path) -> None:
    shard = shards.shard(tmp_path / "one", job("a"), job("b"))
    for each in shard.finished():
        for name in ("report.html", "junit.xml", "verdict.json"):
            (shard.path / str(each.folder) / name).write_text("{}")
    (shard.path / "runs/b/b-1/history.jsonl").write_text("not a history\n")

    merged = joined(shard)

    assert all(file.read_text() != "{}" for file in merged.path.rglob("*") if file.is_file())
    assert (merged.path / "runs/a/a-1/report.html").exists()
    assert not (merged.path / "runs/b/b-1/report.html").exists()


def reduced(folder: Path) -> Night:
    """A shard of an earlier version, which `keep` has reduced."""
    shard = shards.shard(folder, job("a"), job("b"))
    history(shard).unlink()
    (shard.path / "runs/a/a-1/events").rmdir()
    return shard


@pytest.mark.slow
def test_a_run_without_a_history_is_not_judged_again(tmp_path: Path) -> None:
    merged = joined(reduced(tmp_path / "one"), mine=campaign(tmp_path))

    document = written(merged)
    by_name = {each["name"]: each for each in document["cells"]}
    (run,) = by_name["a"]["runs"]
    assert document["headline"] == "1 RUN NOT JUDGED AGAIN, 1 not judged again, 1 passing"
    assert document["exit_code"] == ExitCode.UNKNOWN
    assert by_name["a"]["status"] == "not judged again"
    assert (run["outcome"], run["verdict"], run["fingerprint"]) == ("not-judged", None, None)
    assert run["headline"] == "not judged again: its shard has no history of it"
    assert written(merged, allow_unknown=True)["exit_code"] == ExitCode.AS_EXPECTED


def test_a_run_that_is_not_judged_again_has_its_place(tmp_path: Path) -> None:
    merged = joined(reduced(tmp_path / "one"), mine=campaign(tmp_path))
    said = "not judged again: its shard has no history of it"

    for allowed, tag in ((False, "error"), (True, "skipped")):
        results = Results(tmp_path / f"{tag}.db")
        outputs.write(merged, results, allow_unknown=allowed)

        assert f'<{tag} message="{said}"' in (merged.path / "junit.xml").read_text()
        assert said in (merged.path / "summary.md").read_text().replace("`", "")
        assert said in (merged.path / "index.html").read_text()
        assert said in "\n".join(lines(assessed(merged)))
        assert results.outcomes(before="2027") == {"a": [RunOutcome.NOT_JUDGED], "b": [RunOutcome.PASSED]}


def test_a_run_beside_others_that_pass_is_named_too(tmp_path: Path) -> None:
    shard = shards.shard(tmp_path / "one", job(), job(repeat=2, seed=8))
    history(shard).unlink()

    merged = joined(shard)

    said = "\n".join(lines(assessed(merged)))
    assert assessed(merged).exit_code(allow_unknown=False) is ExitCode.UNKNOWN
    assert "seed 7: not judged again" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "header"), [(job(seed=8), {"seed": 8}), (job("b"), {"target": "b"}), (job(), {"seed": None})]
)
def test_the_history_of_another_run_is_not_counted(tmp_path: Path, of: Job, header: dict[str, Any]) -> None:
    shard = shards.shard(tmp_path / "one", job(), **header)

    (run,) = assessed(joined(shard)).runs

    assert run.outcome is RunOutcome.NOT_JUDGED
    assert f"of a run of {of.cell}" in run.headline


def test_a_history_that_kills_its_process_stops_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = shards.shard(tmp_path / "one", job("a"), job("b"))
    monkeypatch.setattr(rejudging, "judge", shards.killed_by_a)

    one, two = assessed(joined(shard)).runs

    assert "the process that judged its history was killed" in one.headline
    assert two.headline == f"not judged again: {rejudging.NO_HISTORY}"


def test_a_merge_corrects_what_its_shards_have_stored(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    shard = shards.rewritten(claiming(tmp_path / "one", job(), STALE), shard="1/1")
    outputs.write(Night.read(shard.path), results, allow_unknown=False)

    merged = joined(shard, mine=campaign(tmp_path))
    outputs.write(merged, results, allow_unknown=False)

    (known,) = results.seeds()
    assert results.outcomes(before="2027") == {"a": [RunOutcome.FAILED]}
    assert (known.cell, known.failed) == ("a", 1)


CAMPAIGN = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["{}"]\n'
RUNS_MISSING = "the shards have no run of etcd-redis, of the campaign file"
RUNS_MORE = "the shards ran etcd-postgres, which the campaign file does not have"
RUNS_OTHER = "the shards ran with another text than the campaign file now has: etcd-postgres"


def ran(folder: Path, *changes: str, number: str = "") -> Night:
    """A night that ran etcd-postgres, with changed settings if there are any."""
    cell = of_file("etcd-postgres", changes)
    made = shards.shard(folder / "shard", job(cell.name), number=number)
    return shards.rewritten(made, cells=[msgspec.to_builtins(cell)])


def test_a_night_of_the_campaigns_own_cells_is_green(tmp_path: Path) -> None:
    document = written(joined(ran(tmp_path), mine=campaign(tmp_path, CAMPAIGN.format("etcd-postgres"))))

    assert (document["exit_code"], document["notices"]) == (ExitCode.AS_EXPECTED, [])


@pytest.mark.slow
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
    merged = joined(ran(tmp_path, *changes), mine=campaign(tmp_path, CAMPAIGN.format(mine)))

    document = written(merged, allow_unknown=True)

    assert document["notices"] == said
    assert document["exit_code"] == ExitCode.INFRASTRUCTURE
    assert document["headline"].startswith("OTHER CELLS THAN THE CAMPAIGN'S, ")


def test_what_a_missing_shard_may_have_run_is_not_missed_twice(tmp_path: Path) -> None:
    mine = campaign(tmp_path, CAMPAIGN.format('etcd-postgres", "etcd-redis'))

    document = written(joined(ran(tmp_path, number="1/2"), mine=mine))

    assert document["notices"] == ["shard 2/2 is missing: its runs are not in this night"]


def test_a_target_that_is_not_here_is_said(tmp_path: Path) -> None:
    mine = campaign(tmp_path, CAMPAIGN.format("gone/away.toml"))

    (notice,) = written(joined(ran(tmp_path), mine=mine))["notices"]

    assert notice.startswith("what the shards ran was not compared with the campaign file: ")
    assert 'mine.toml:4: cells.0.targets.0 = "gone/away.toml": there is no file' in notice
