"""What a page says, and how it marks it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import report
from harness.report import wording
from harness.run.recheck import recheck
from tests.support.report_folder import FINDING, REFUSED, STALE, run_folder, text_of
from tests.support.verdicts import verdict_of


def test_what_is_only_counted_is_not_marked_like_a_violation(tmp_path: Path) -> None:
    found = {"double-belief": 40, "stale-write": 1, "late-write": 0}
    page = report.write(run_folder(tmp_path, anomalies=found)).read_text()

    verdict = verdict_of({"anomalies": found, "findings": [{"anomaly": "stale-write"}]})
    assert [row.name for row in wording.anomalies(verdict, {})] == [
        "stale-write",
        "double-belief",
        "late-write",
    ]
    assert '<tr class="marked"><th scope="row">stale-write' in page
    assert '<tr class="counted"><th scope="row">double-belief' in page
    assert page.count("Counted, not a violation.") == 1
    assert "<td>not found</td>" in page.split("late-write</th>")[1][:30]


def test_a_lost_update_that_a_late_write_explains_is_only_counted() -> None:
    (row,) = wording.anomalies(verdict_of({"anomalies": {"lost-update": 2}}), {})

    assert not row.violation


def test_what_a_run_could_not_show_is_not_said_to_be_checked(tmp_path: Path) -> None:
    found = {"stale-write": 1, "lost-update": 0, "duplicate-token": 0, "stuck-lock": 0}

    page = text_of(report.write(run_folder(tmp_path, anomalies=found)))

    assert "duplicate-token not found" in page
    assert "lost-update nothing to compare: no appends" in page


def test_steps_without_lines_are_not_said_to_have_any(tmp_path: Path) -> None:
    page = text_of(
        report.write(
            run_folder(
                tmp_path, findings=[FINDING | {"steps": ["So it is."], "operations": [], "step_lines": [[]]}]
            )
        )
    )

    assert "Line numbers refer to history.jsonl" not in page


def test_a_value_with_a_hyphen_is_not_broken_and_its_markup_is_escaped(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, findings=[FINDING | {"summary": "<i> lost '2-1.0'."}])

    page = report.write(folder).read_text()

    assert '&lt;i&gt; lost &#39;<span class="whole">2-1.0</span>&#39;.' in page


@pytest.mark.parametrize(
    ("count", "said"), [(1, "The stale write that was"), (2, "The first of the stale writes that were")]
)
def test_refused_writes_are_the_first_of_them_only_where_there_are_more(
    tmp_path: Path, count: int, said: str
) -> None:
    folder = run_folder(tmp_path, REFUSED, findings=[], coverage={"stale_writes_rejected": count})

    assert f"{said} refused." in text_of(report.write(folder))


def test_the_first_line_numbers_are_said_to_be_of_the_history(tmp_path: Path) -> None:
    reported = FINDING | {"steps": ["It was accepted (line 13)."]}
    page = text_of(report.write(run_folder(tmp_path, findings=[reported])))

    assert page.index("Line numbers refer to history.jsonl") < page.index("The operations that prove it")


def test_a_violation_without_a_cause_says_so_on_the_page(tmp_path: Path) -> None:
    unexplained, none = (
        FINDING | {"cause": None},
        "Cause: none; no fault or late call in this run explains it.",
    )

    page = text_of(report.write(run_folder(tmp_path, findings=[unexplained])))
    counted = text_of(report.write(run_folder(tmp_path, findings=[], counted=[unexplained])))

    assert none in page
    assert none not in counted


def test_findings_of_one_cause_are_one_entry_of_the_page(tmp_path: Path) -> None:
    found = {"anomalies": {"stale-write": 119}, "findings": [FINDING] * 119}

    page = text_of(report.write(run_folder(tmp_path, **found)))

    assert "Cause: pause of a client." in page
    assert "What was found, and why" not in page


def test_findings_of_several_causes_are_listed_with_links(tmp_path: Path) -> None:
    unexplained = FINDING | {"cause": None}

    page = text_of(report.write(run_folder(tmp_path, findings=[FINDING, unexplained, FINDING])))

    assert "What was found, and why" in page
    assert "Cause: pause of a client · on r0 finding 1 finding 2" in page


def test_counts_that_are_zero_come_last(tmp_path: Path) -> None:
    coverage = {"grants": 3, "kills": 0, "stale_writes_attempted": 1, "stale_writes_accepted": 1}

    page = text_of(report.write(run_folder(tmp_path, coverage=coverage)))

    assert page.index("Stale writes accepted 1") < page.index("Kills none")


@pytest.mark.parametrize("name", ["get-then-del-unlock", "redlock-postgres-clock"])
def test_a_grant_is_chosen_by_the_moment_that_its_headline_names(
    recorded_run: Callable[[str], Path], name: str
) -> None:
    folder = recorded_run(name)
    recheck(folder)
    page = (folder / "report.html").read_text()

    chosen = re.findall(r"<option value=.*: early grant on r\d, ([0-9.,]+ s)</option>", page)
    headlines = re.findall(r'<p class="sentence">.* was granted .* at ([0-9.,]+ s), while', page)

    assert chosen == headlines
    assert len(chosen) > 1


def test_a_run_without_operations_has_no_empty_section(tmp_path: Path) -> None:
    header = STALE.splitlines()[0] + "\n"
    nothing = {"anomalies": {}, "findings": [], "coverage": {"grants": 0}}

    page = text_of(report.write(run_folder(tmp_path, header, **nothing)))

    assert "No client operation was recorded, so there is nothing to draw." in page
    assert "Grants none" in page
    assert "How long calls took" not in page


def test_the_target_file_is_shown_line_by_line(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    (folder / "target.toml").write_text("name = 't'\n\n[lock]\nkind = 'etcd'\n")

    page = report.write(folder).read_text()

    assert '<pre class="wrapped">name = &#39;t&#39;\n\n[lock]\nkind = &#39;etcd&#39;\n</pre>' in page
