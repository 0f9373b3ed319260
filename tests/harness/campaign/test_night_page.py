"""The page of a night: what it shows, that recorded words stay words, and how large it gets."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.generated_nights import generate
from harness.campaign import outputs
from harness.campaign.assessment import Assessment, assess
from harness.campaign.execution import Finished
from harness.campaign.night import Night
from harness.campaign.page import render
from harness.campaign.page.page import page
from harness.campaign.page.trend import strip
from harness.campaign.status import RunOutcome
from harness.campaign.stored import Remembered
from harness.campaign.summary import markdown
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import TODAY, finished, job, plan, verdict

STALE = verdict("Client 0 wrote '<script>alert(1)</script>\x1b[31m' with password=hunter22 too late")


def judged(folder: Path, *runs: Finished) -> tuple[Night, Assessment]:
    """A night with these runs, and what they mean."""
    night = Night(folder, plan(*(run.job for run in runs if not run.job.reproduction)))
    return night, assess(night.plan, runs, before={}, quarantine=(), today=TODAY)


def html(folder: Path, *runs: Finished) -> str:
    return render(*judged(folder, *runs), (), ExitCode.VIOLATION)


def remembered(night: str, outcome: RunOutcome = RunOutcome.PASSED, **more: object) -> Remembered:
    fields = {"cell": "a", "repeat": 1, "seed": "7", "seconds": 30.0, "fingerprint": None, "folder": None}
    return Remembered(night=night, outcome=outcome, **fields | more)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 1,000 runs over 30 nights."""
    return generate(tmp_path_factory.mktemp("large"), nights=30, runs=1000).path / outputs.PAGE


def test_recorded_words_stay_words_and_passwords_are_hidden(tmp_path: Path) -> None:
    shown = html(tmp_path, finished(job(), 1, STALE))

    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert "\\x1b[31m" in shown
    assert "hunter22" not in shown


def test_nothing_is_loaded_and_no_script_runs(tmp_path: Path) -> None:
    shown = html(tmp_path, finished(job(), 1, STALE))

    assert "default-src 'none'; img-src data:; style-src 'sha256-" in shown
    assert "script-src" not in shown
    assert re.findall(r"https?://", shown) == []
    assert " style=" not in shown


def test_failures_of_one_fingerprint_are_one_finding(tmp_path: Path) -> None:
    runs = [
        finished(job(seed=7), 1, STALE),
        finished(job(seed=7, reproduction=1), 1, STALE),
        finished(job(repeat=2, seed=8), 1, STALE),
        finished(job(repeat=3, seed=9)),
    ]
    night, assessment = judged(tmp_path, *runs)
    fingerprint = assessment.runs[0].fingerprint
    earlier = [remembered("2026-11-20T03:00", RunOutcome.FAILED, fingerprint=fingerprint)]

    (group,) = page(night, assessment, earlier, ExitCode.VIOLATION).groups

    assert group.how_often == "Tonight in 2 of 3 runs, and in 1 earlier night, on 2026-11-20"
    assert [run.reproduced for run in group.runs] == ["reproduced 1 of 1", ""]
    assert [str(run.replay.command).partition("  #")[0] for run in group.runs] == [
        f"fencepost run {tmp_path}/runs/a/a-1/target.toml --seed 7",
        f"fencepost run {tmp_path}/runs/a/a-2/target.toml --seed 8",
    ]


@pytest.mark.parametrize(
    ("cell", "how_often"),
    [
        (
            "a",
            "In the one run of tonight; earlier nights have failures under fingerprints of an earlier version",
        ),
        ("b", "In the one run of tonight; not in earlier nights"),
    ],
    ids=["of its cell", "of another cell"],
)
def test_failures_under_older_fingerprints_are_not_new(cell: str, how_often: str, tmp_path: Path) -> None:
    night, assessment = judged(tmp_path, finished(job(), 1, STALE))
    earlier = [remembered("2026-11-20T03:00", RunOutcome.FAILED, fingerprint="2-89abcdef", cell=cell)]

    (group,) = page(night, assessment, earlier, ExitCode.VIOLATION).groups

    assert group.how_often == how_often


def test_only_reports_that_are_kept_are_linked(tmp_path: Path) -> None:
    runs = [finished(job(), 1, STALE), finished(job(repeat=2, seed=8), 1, STALE)]
    report = tmp_path / str(runs[0].folder) / "report.html"
    report.parent.mkdir(parents=True)
    report.touch()

    shown = html(tmp_path, *runs)

    assert shown.count('href="runs/a/a-1/report.html"') == 2
    assert "a-2/report.html" not in shown


def test_twins_are_side_by_side_with_their_stale_writes(tmp_path: Path) -> None:
    counts = {"stale_writes_attempted": 9, "stale_writes_rejected": 9}
    runs = [finished(job("unfenced")), finished(job("fenced"), 0, verdict() | {"coverage": counts})]
    made = plan(*(run.job for run in runs))
    made.cells[1] = replace(made.cells[1], storage="postgres:upsert")
    assessment = assess(made, runs, before={}, quarantine=(), today=TODAY)

    (pair,) = page(Night(tmp_path, made), assessment, (), ExitCode.AS_EXPECTED).twins

    assert [side.cell.name for side in (*pair.unfenced, *pair.fenced)] == ["unfenced", "fenced"]
    assert [pair.fenced[0].counted(name) for name in counts] == [9, 9]


def test_a_strip_has_a_square_for_each_night_with_a_run() -> None:
    runs = [
        remembered("1", RunOutcome.PASSED),
        remembered("1", RunOutcome.FAILED),
        remembered("3", RunOutcome.UNKNOWN),
    ]

    assert [(int(bar.x), bar.outcome) for bar in strip(runs, ["1", "2", "3"])] == [
        (0, "failed"),
        (2, "unknown"),
    ]


@pytest.mark.nightly
def test_a_thousand_runs_of_30_nights_are_all_there_in_3_mb(large: Path) -> None:
    shown = large.read_text()

    assert len(shown.encode()) <= 3_000_000
    assert len(re.findall(r", run \d+(?:</a>)?: \w+, [^<]*, seed \d+</li>", shown)) >= 1000
    assert "Runs of the last 30 nights" in shown


@pytest.mark.nightly
def test_the_links_of_a_large_page_lead_somewhere(large: Path) -> None:
    links = set(re.findall(r'href="([^"#][^"]*)"', large.read_text())) - {"data:,"}

    assert len(links) > 900
    assert [link for link in links if not (large.parent / link).is_file()] == []


@pytest.mark.nightly
def test_the_anchors_of_a_large_page_are_unique_and_all_there(large: Path) -> None:
    shown = large.read_text()
    ids = re.findall(r' id="([^"]+)"', shown)

    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', shown)) <= set(ids)


def test_a_night_that_could_not_run_says_what_failed_first(tmp_path: Path) -> None:
    runs = [finished(job(repeat=number), 3, error="etcd-1 ended with status 1") for number in (1, 2)]
    runs += [finished(job(repeat=3), 4, error="the engine finds no ZooKeeper")]

    shown = page(*judged(tmp_path, *runs), None, ExitCode.CONFIGURATION)

    assert shown.label == "Could not be run"
    assert shown.without_verdict == (
        "2 runs ended without a verdict: etcd-1 ended with status 1",
        "1 run ended without a verdict: the engine finds no ZooKeeper",
    )
    assert shown.counted == "3 runs of 1 cell: 3 ended without a verdict."
    assert shown.no_groups == "No run was judged, so nothing could be found."
    assert [(each.sentence, len(each.runs)) for each in shown.undecided] == [
        ("etcd-1 ended with status 1", 2),
        ("the engine finds no ZooKeeper", 1),
    ]


def test_only_three_reasons_for_no_verdict_are_named_first(tmp_path: Path) -> None:
    runs = [finished(job(repeat=number), 3, error=f"reason {number}") for number in range(1, 6)]

    *named, others = page(*judged(tmp_path, *runs), None, ExitCode.INFRASTRUCTURE).without_verdict

    assert len(named) == 3
    assert others == "2 more runs ended without a verdict, for other reasons"


@pytest.mark.parametrize(
    ("earlier", "said"),
    [
        (None, "Only this night is known, because it was run without"),
        ([], "This is the first night of nightly in the"),
        ([remembered("2026-11-20T03:00")], "Runs of the last 2 nights"),
    ],
    ids=["no history", "the first night", "an earlier night"],
)
def test_the_trend_names_its_nights(earlier: Sequence[Remembered] | None, said: str, tmp_path: Path) -> None:
    night, assessment = judged(tmp_path, finished(job()))

    shown = render(night, assessment, earlier, ExitCode.AS_EXPECTED)

    assert said in shown
    assert ('<svg class="trend"' in shown) == bool(earlier)


def test_the_key_of_the_trend_has_the_outcomes_that_occur(tmp_path: Path) -> None:
    night, assessment = judged(tmp_path, finished(job()))
    earlier = [remembered("2026-11-20T03:00", RunOutcome.UNKNOWN)]

    drawn = page(night, assessment, earlier, ExitCode.AS_EXPECTED).trend

    assert drawn.outcomes == ("unknown", "passed")
    assert [each.counts for each in drawn.nights] == [(1, 0), (0, 1)]
    assert {bar.outcome for bar in drawn.bars} == {"unknown", "passed"}


def test_a_cell_whose_violation_was_found_says_so(tmp_path: Path) -> None:
    runs = [finished(job("a"), 0, verdict("too late", as_expected=True)), finished(job("b"))]
    night, assessment = judged(tmp_path, *runs)

    shown = page(night, assessment, None, ExitCode.AS_EXPECTED)

    words = ["violation found as expected", "passing"]
    assert [row.result.said for row in shown.cells] == words
    assert [result.said for *_, columns in shown.matrix.rows for result in columns[0]] == words
    assert "| a | violation found as expected |" in markdown(night, assessment)
