"""What GitHub and GitLab get of a night: annotations, a summary, and code quality."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from harness.campaign.assessment import assess
from harness.campaign.campaign_file import Quarantine
from harness.campaign.execution import Finished
from harness.campaign.issues import MOST_BYTES, Issue, annotate, append_summary, code_quality, issues, warn
from harness.campaign.night import Night
from harness.campaign.status import RunOutcome
from tests.support.campaign_runs import TODAY, finished, job, plan, verdict

STALE = verdict("Client 0 wrote 'x' too late")
SOURCE = """\
name = "nightly"

[[cells]]
targets = ["shipped"]

[[matrix]]
lock = ["etcd"]
storage = ["postgres:none"]
faults = ["pause"]
"""


def found(folder: Path, runs: Sequence[Finished], *, mine: Path | None = None) -> tuple[Issue, ...]:
    made = msgspec.structs.replace(plan(*(run.job for run in runs)), file=str(folder / "nightly.toml"))
    if mine:
        made.cells[0] = replace(made.cells[0], file=str(mine))
    night = Night.create(folder / "nights", made, SOURCE)
    return issues(night, assess(night.plan, runs, before={}, quarantine=(), today=TODAY))


def issue(sentence: str, outcome: RunOutcome = RunOutcome.FAILED) -> Issue:
    return Issue(outcome=outcome, cell="a", sentence=sentence, fingerprint="f", file="/r/a.toml", line=3)


def test_each_fingerprint_is_one_issue_and_a_pass_is_none(tmp_path: Path) -> None:
    runs = [
        finished(job(), 1, STALE),
        finished(job(repeat=2, seed=8), 1, STALE),
        finished(job("b")),
        finished(job("c"), 3, message="no engine"),
        finished(job("c", repeat=2), 3, message="no engine"),
    ]

    assert [(each.cell, each.outcome.value) for each in found(tmp_path, runs)] == [
        ("a", "failed"),
        ("c", "infrastructure"),
    ]


def test_a_cell_of_the_users_own_file_points_at_what_it_expects(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('name = "mine"\n\nexpect = "valid"\n')

    (each,) = found(tmp_path, [finished(job(), 1, STALE)], mine=mine)

    assert (each.file, each.line) == (str(mine), 3)


def test_a_file_that_is_gone_is_named_with_its_first_line(tmp_path: Path) -> None:
    (each,) = found(tmp_path, [finished(job(), 1, STALE)], mine=tmp_path / "gone.toml")

    assert each.line == 1


def test_a_combination_points_at_its_matrix_in_the_campaign_file(tmp_path: Path) -> None:
    (each,) = found(tmp_path, [finished(job(), 1, STALE)])

    assert (each.file, each.line) == (str(tmp_path / "nightly.toml"), 7)


@pytest.mark.parametrize(
    ("outcome", "allowed", "command"),
    [
        (RunOutcome.FAILED, False, "::error "),
        (RunOutcome.INFRASTRUCTURE, False, "::error "),
        (RunOutcome.UNKNOWN, False, "::error "),
        (RunOutcome.UNKNOWN, True, "::warning "),
        (RunOutcome.NOT_JUDGED, False, "::error "),
        (RunOutcome.NOT_JUDGED, True, "::warning "),
        (RunOutcome.QUARANTINED, False, "::notice "),
    ],
)
def test_an_annotation_is_as_grave_as_its_outcome(outcome: RunOutcome, allowed: bool, command: str) -> None:
    (line,) = annotate([issue("x", outcome)], Path("/r"), allow_unknown=allowed)

    assert line == f"{command}file=a.toml,line=3,title=a%3A {outcome}::x"


def test_recorded_text_cannot_begin_a_workflow_command() -> None:
    (line,) = annotate([issue("50%\n::set-env name=A::b\r\x1b[31m##[error]")], Path("/"), allow_unknown=False)

    assert line.endswith("::50%25\\n::set-env name=A::b\\r\\x1b[31m#\\x23[error]")
    assert "\n" not in line


def test_a_notice_about_the_night_is_a_warning() -> None:
    made = msgspec.structs.replace(plan(job()), missing=["2/3"])
    expired = Quarantine(fingerprint="4-9a1c0f63b2de", reason="50%", until=TODAY - dt.timedelta(days=1))
    night = assess(made, [finished(job())], before={}, quarantine=(expired,), today=TODAY)

    assert list(warn(night)) == [
        "::warning title=nightly::Shard 2/3 is missing: its runs are not in this night",
        "::warning title=nightly::A quarantine has expired: 50%25 (until 2026-11-21)",
    ]


def test_a_summary_is_appended(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_text("before\n")

    append_summary(file, "## a night\n")

    assert file.read_text() == "before\n## a night\n\n"


def test_a_summary_that_is_too_long_is_cut_at_a_line(tmp_path: Path) -> None:
    append_summary(tmp_path / "summary", "a line with ü\n" * 200_000)

    text = (tmp_path / "summary").read_text()
    assert len(text.encode()) < MOST_BYTES + 100
    assert text.endswith("a line with ü\n\nThe rest is in `summary.md` of the night.\n\n")


def test_code_quality_is_as_gitlab_documents_it() -> None:
    """Code Quality, "Code Quality report format"."""
    document = code_quality(
        [issue("x", each) for each in RunOutcome if each is not RunOutcome.PASSED], Path("/r")
    )

    assert [each["severity"] for each in document] == ["critical", "minor", "minor", "major", "info"]
    assert [each | {"severity": "", "check_name": ""} for each in document] == 5 * [
        {
            "description": "a: x",
            "check_name": "",
            "fingerprint": "f",
            "severity": "",
            "location": {"path": "a.toml", "lines": {"begin": 3}},
        }
    ]
    assert all(each["check_name"] for each in document)
