"""What a page says and how it marks it: findings, groups, faults and hazards as tables."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from checkers.history.reader import parse
from checkers.history.records import History
from checkers.verdict.judge import judge
from checkers.vocabulary.document import HazardsDocument
from checkers.vocabulary.hazards import End, HazardTable
from harness import report
from harness.report import wording
from harness.report.causes import Openings
from harness.report.groups import explained, groups
from harness.report.hazard_grid import ENDS, hazards, in_words
from harness.report.page import fault_rows
from harness.report.recorded_run import RecordedFault
from harness.run.recheck import recheck
from tests.support.recorded_runs import Unpack
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
def test_refused_writes_are_the_first_of_several(tmp_path: Path, count: int, said: str) -> None:
    folder = run_folder(tmp_path, REFUSED, findings=[], coverage={"stale_writes_rejected": count})

    assert f"{said} refused." in text_of(report.write(folder))


def test_the_first_line_numbers_are_said_to_be_of_the_history(tmp_path: Path) -> None:
    reported = FINDING | {"steps": ["It was accepted (line 13)."]}
    page = text_of(report.write(run_folder(tmp_path, findings=[reported])))

    assert page.index("Line numbers refer to history.jsonl") < page.index("The operations of the proof")


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
def test_a_grant_is_chosen_by_its_headlines_moment(recorded_run: Unpack, name: str) -> None:
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


MANY = 2_000


def test_many_findings_of_one_name_are_one_entry() -> None:
    findings = [{"resource": f"r{number}"} for number in range(MANY)]
    document = verdict_of({"anomalies": {"stale-write": MANY}, "findings": findings})

    (group,) = groups(document, Openings(None))

    assert group.number == len(group.members) == len(group.resources) == MANY


def test_certain_findings_come_first_then_unexpected_ones_then_by_time() -> None:
    sure, fits = {"certain": True}, {"certain": False}

    def found(name: str, anomaly: str, line: int, cause: dict[str, bool] | None) -> dict[str, object]:
        return {"anomaly": anomaly, "resource": name, "accused": [line - 1, line], "cause": cause}

    document = verdict_of(
        {
            "expected": ["stale-write"],
            "findings": [
                found("probable, early", "stale-write", 10, fits),
                found("certain, late", "stale-write", 40, sure),
                found("certain, early", "stale-write", 20, sure),
                found("no cause, late", "lost-write", 60, None),
                found("no cause, early", "lost-write", 50, None),
            ],
            "counted": [found("counted", "late-write", 5, sure)],
        }
    )

    assert [each.resource for each in explained(document)] == [
        "certain, early",
        "certain, late",
        "no cause, early",
        "no cause, late",
        "probable, early",
        "counted",
    ]
    assert [each.anomaly for each in explained(document, ["lost-write"])][:2] == ["lost-write"] * 2


PLAN = [
    RecordedFault(kind="pause", target="client:0", in_force=20, healed=30),
    RecordedFault(kind="pause", target="client:1", in_force=60, healed=70),
    RecordedFault(kind="pause", target="client:0", in_force=80),
    RecordedFault(kind="pause", target="client:2"),
]


def run() -> History:
    acquire = {"process": 0, "f": "acquire", "resource": "r0", "owner": "a"}
    lines: list[dict[str, Any]] = [
        {"fencepost": 1, "target": "t"},
        {"time": 0, "type": "invoke", **acquire},
        {"time": 10, "type": "ok", "token": 1, "ttl": 1_000, **acquire},
    ]
    for fault in PLAN:
        for state, time in (("in force", fault.in_force), ("healed", fault.healed)):
            if time is not None:
                value = {"target": fault.target, "state": state}
                lines.append(
                    {"time": time, "process": "nemesis", "type": "info", "f": "pause", "value": value}
                )
    return parse([json.dumps(line) + "\n" for line in lines])


def test_a_fault_that_does_not_count_says_why() -> None:
    counted = [row.counted for row in fault_rows(PLAN, run())]

    assert counted == [
        "yes",
        "no: it hit neither a client that held a lock nor one that waited for it",
        "no: it was not observed from beginning to end",
        "no: it was not observed from beginning to end",
    ]
    assert counted.count("yes") == judge(run()).coverage["pauses"]


def test_without_a_history_nothing_is_said_of_what_counts() -> None:
    assert {row.counted for row in fault_rows(PLAN, None)} == {""}


SEEN = HazardsDocument(
    hit={"before-write/superseded/holder": 3, "write-sent/expired/storage/lost": 1},
    missed=["before-write/expired/holder"],
    possible=2,
)
TABLE = HazardTable(
    possible=["before-write/expired/holder", "before-write/superseded/holder"],
    impossible={"no fault of this target hits the storage": ["*/*/storage"]},
)


def test_a_cell_is_a_count_or_missed_or_impossible() -> None:
    shown = hazards(SEEN, TABLE)

    assert shown is not None
    assert [grid.title for grid in shown.grids] == [
        "Faults on the holder of the lock",
        "Faults on the storage, messages lost",
    ]
    (row,) = shown.grids[0].rows
    assert (row.point, row.counts) == ("before its write", (None, 0, None, 3))
    assert shown.impossible == (("No fault of this target hits the storage", ("Faults on the storage",)),)
    assert len(ENDS) == len(End)


def test_a_cell_that_was_hit_is_not_listed_as_impossible() -> None:
    never = "no fault of this target ends then"
    cells = ["write-sent/expired/storage/lost", "write-sent/regranted/storage/lost"]

    shown = hazards(SEEN, HazardTable(impossible={never: cells}))

    assert shown is not None
    assert shown.impossible == (("No fault of this target ends then", (in_words(cells[1]),)),)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("*/*/waiter", "Faults on a client that waited for the lock"),
        (
            "*/expired/lock/delayed",
            "Faults on the lock service, ended once the lease had expired, messages delayed",
        ),
        (
            "before-write/superseded/holder/lost",
            (
                "Faults on the holder of the lock, begun before its write,"
                " ended once another client had written, messages lost"
            ),
        ),
    ],
)
def test_a_moment_that_cannot_happen_is_said_in_words(pattern: str, words: str) -> None:
    assert in_words(pattern) == words


def test_a_run_that_endangered_no_lock_has_no_such_tables() -> None:
    assert hazards(None, None) is None


def test_a_page_has_the_tables(tmp_path: Path) -> None:
    seen = {"hit": SEEN.hit, "missed": SEEN.missed, "possible": SEEN.possible}

    page = text_of(report.write(run_folder(tmp_path, hazards=seen)))

    assert "1 of 2 dangerous moments tried." in page
    assert "before its write – – – 3 times" in page
