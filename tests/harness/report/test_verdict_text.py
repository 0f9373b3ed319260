"""A verdict as lines of text, on a terminal or in a log."""

from pathlib import Path
from typing import Any

import pytest

from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.reasons import Reason, ReasonKind
from harness.report.lines import LineTone
from harness.report.verdict_text import JudgedRun, explanation, headline, table, verdict_lines
from tests.support.printed_verdicts import STALE, STALE_WRITES, document, paused_history, printed
from tests.support.verdicts import verdict_of

FOLDER = Path("/runs/etcd-postgres/20260101T000000-abc123")


def test_the_headline_counts_the_moments_and_the_details_name_them() -> None:
    seen = {
        "hit": {"before-write/superseded/holder": 3},
        "missed": ["renewing/expired/holder"],
        "possible": 2,
    }
    judged = document(pauses=3, stale_writes_attempted=3, stale_writes_rejected=3) | {"hazards": seen}
    named = "  1 of 2 dangerous moments tried, but not renewing/expired/holder"

    held = "t  The fence held: 3 of 3 stale writes refused, 1 of 2 dangerous moments tried"
    assert printed(judged)[0] == held
    assert named not in printed(judged)
    assert named in printed(judged, verbose=True)


def test_an_unexpected_violation_has_its_proof_and_its_faults_evidence() -> None:
    unexpected = STALE_WRITES | {"expected": "valid", "as_expected": False}

    lines = printed(unexpected, width=1_000, history=paused_history())

    assert lines[:9] == [
        "t  BUG: the storage accepted 2 stale writes",
        "  Client 1 overwrote r0 with token 33 after token 34 had been written.",
        "    stale-write: A write with an older token took effect after a write with a newer one had.",
        "    1. token 33 was granted to client 1",
        "    2. token 34 was written",
        "    3. token 33 was accepted after it",
        "    Line numbers are those of the history.",
        "  Cause: client 1 was paused 0.500–4.000 s; observed: status is stopped.",
        f"  What to do: {ANOMALIES['stale-write'].remedy}",
    ]


def test_the_details_have_verdict_counts_windows_and_checkers() -> None:
    judged = STALE_WRITES | {
        "anomalies": {"stale-write": 2, "double-belief": 7},
        "windows": [{"fault": "pause holder", "hit": 2, "missed": {"no holder": 1}}],
        "checkers": [{"name": "stale-write", "verdict": "invalid", "evidence": "committed", "seconds": 0.25}],
    }

    lines = printed(judged, verbose=True, history=paused_history())

    assert lines[-7:] == [
        "  Also double-belief (no violation): two clients believed at once that they held the lock, 7 times.",
        "    1 more finding of stale-write in the report",
        "",
        "  Verdict: invalid, as this target expects",
        "  grants 1,084 · stale writes attempted 2 · stale writes accepted 2",
        "  pause holder: 3 windows, 2 hit, 1 missed: no holder",
        "  stale-write  invalid  committed  0.250 s",
    ]
    assert "    1. token 33 was granted to client 1" in lines
    brief = printed(judged, history=paused_history())
    assert not any("double-belief" in line or "windows" in line or "0.250 s" in line for line in brief)


def test_what_was_not_expected_comes_first_and_all_else_has_a_line() -> None:
    early = {"anomaly": "early-grant", "resource": "r0", "summary": "EARLY", "operations": [], "steps": []}
    judged = document(
        "invalid",
        expected=["stale-write", "lost-write"],
        as_expected=False,
        reasons=[
            Reason(ReasonKind.UNEXPECTED, "early-grant"),
            Reason(ReasonKind.NOT_FOUND, "lost-write"),
            Reason(ReasonKind.CRASHED, "stale-read", "KeyError"),
        ],
        findings=[STALE, early],
    )

    lines = printed(judged, width=1_000)

    assert lines[:2] == [
        "t  BUG: the lock was given away while another's lease was still promised",
        "  EARLY.",
    ]
    assert lines[-4:] == [
        "  Also stale-write: the storage accepted a stale write.",
        "  Also late-write (no violation): superseded holders wrote 4 times before their successors did.",
        "  Expected lost-write was not found.",
        "  The checker stale-read crashed: KeyError.",
    ]


def test_a_run_that_was_not_asked_for_stale_writes_says_so() -> None:
    judged = document(stale_writes_attempted=0)

    lines = printed(judged)

    assert lines[0] == "t  Nothing wrong was found: the lock was granted 1,084 times"
    assert "No stale write was attempted, and this run required none" in lines[1]


def test_a_run_that_challenged_nothing_is_no_pass() -> None:
    judged = document(
        "unknown",
        as_expected=False,
        reasons=[
            Reason(ReasonKind.NOT_EXERCISED, "no stale write was attempted", "run longer, or with faults")
        ],
    )

    lines = printed(judged, width=1_000)
    assert lines[0] == "t  Not tested: no stale write was attempted"
    assert lines[1].startswith(
        "  This is not a pass: a storage without any fence would have looked the same. (A write is stale if"
    )
    assert lines[2] == (
        "  What to do: Run longer, or with faults, such as a pause of the holder before its write."
    )


def test_a_run_whose_fence_refused_writes_is_not_said_to_look_unfenced() -> None:
    judged = document(
        "unknown",
        as_expected=False,
        reasons=[
            Reason(
                ReasonKind.NOT_EXERCISED,
                "no kill was observed from beginning to end",
                "run longer, or with faults",
            )
        ],
        stale_writes_attempted=3,
        stale_writes_rejected=3,
    )

    assert any("the run did not do all that this target requires." in line for line in printed(judged))
    assert not any("without any fence" in line for line in printed(judged))


def test_an_interrupted_run_says_so() -> None:
    cut = document() | {"interrupted": {"seconds": 5.012, "planned": 20.0}}

    lines = list(verdict_lines(JudgedRun(target="t", document=verdict_of(cut))))

    assert lines[0].text.startswith("t  Interrupted at 5 of 20 s: until then nothing wrong was found")
    assert lines[0].tone is LineTone.PLAIN
    assert "  Interrupted: judged as far as it got." in printed(document(), interrupted=True)


def test_an_interrupted_run_with_a_violation_says_both() -> None:
    found = document("invalid", as_expected=False, findings=[STALE])

    lines = printed(found | {"interrupted": {"seconds": 5.012, "planned": 20.0}})

    assert lines[0] == "t  BUG: the storage accepted a stale write"
    assert "  Interrupted at 5 of 20 s: judged as far as it got." in lines


def test_a_finding_begins_with_a_capital_but_never_alters_a_name() -> None:
    named = STALE | {"resource": "r0", "summary": "r0 was lost"}
    judged = document("invalid", as_expected=False, findings=[STALE])

    assert "  Client 1 overwrote r0 with token 33 after token 34 had been written." in printed(judged)
    assert "  r0 was lost." in printed(document("invalid", as_expected=False, findings=[named]))


def test_no_line_names_a_file_of_a_checkout() -> None:
    judged = document("invalid", as_expected=False, findings=[STALE])

    assert not any("docs/" in line for line in printed(judged))


MISSED = {"as_expected": False, "reasons": [Reason(ReasonKind.NOT_FOUND, "stale-write")]}


@pytest.mark.parametrize(
    ("judged", "headline"),
    [
        (
            document("valid", expected=["stale-write"], **MISSED),
            "Not found: this target expects stale-write, but this run did not find it",
        ),
        (
            document(expected=["late-write"], stale_writes_attempted=1, stale_writes_rejected=1),
            "Found as expected: superseded holders wrote 4 times before their successors did",
        ),
        (
            document(stale_writes_attempted=4, stale_writes_rejected=3, stale_writes_accepted=0),
            "The fence held: 3 of 4 stale writes refused, 0 accepted, 1 unknown",
        ),
    ],
    ids=["not found", "without a fault", "unknown outcomes"],
)
def test_the_headline_says_what_was_found(judged: dict[str, Any], headline: str) -> None:
    assert printed(judged)[0] == f"t  {headline}"


def test_a_lost_update_that_is_only_counted_is_reported_with_its_story() -> None:
    lost = STALE | {"anomaly": "lost-update", "summary": "LOST", "steps": ["so it was"]}
    judged = document(stale_writes_attempted=2, stale_writes_rejected=2) | {"counted": [lost]}
    judged["anomalies"] |= {"lost-update": 14}

    lines = printed(judged, verbose=True)

    assert lines[0] == "t  The fence held: 2 of 2 stale writes refused; but 14 updates were lost"
    assert "  LOST." in lines
    assert "    1. so it was" in lines
    assert "    13 more findings of lost-update in the report" in lines


def test_findings_of_one_cause_are_one_entry_of_the_details() -> None:
    follows = {"caused_by": {"anomaly": "lost-write", "summary": "!", "operations": []}}
    findings = [STALE] * 119 + [STALE | follows] * 3
    judged = document("invalid", as_expected=False, findings=findings)

    lines = printed(judged, verbose=True)

    assert lines.count("    118 more findings of stale-write in the report") == 1
    assert lines.count("    2 more findings of stale-write in the report") == 1
    assert lines.count("    1. token 33 was granted to client 1") == 2


def test_the_first_violation_without_a_cause_says_so_once() -> None:
    unexplained = STALE | {"cause": None}
    findings = [unexplained, unexplained | {"anomaly": "early-grant"}]
    judged = verdict_of(document("invalid", as_expected=False, findings=findings))
    run = JudgedRun(target="t", document=judged, history=paused_history())
    said = "  Cause: none; no fault or late call in this run explains it."

    assert [str(line) for line in verdict_lines(run)].count(said) == 1
    assert said not in printed(document("invalid", findings=findings))


def test_the_text_of_a_test_has_the_notices_which_a_terminal_prints_before() -> None:
    run = JudgedRun(target="t", document=verdict_of(document() | {"notices": ["slow"]}))

    assert explanation(run) == [*map(str, verdict_lines(run)), "note: slow"]


def test_an_exhibit_says_that_its_bug_was_planted_and_names_its_twin() -> None:
    judged = document("invalid", expected=["stale-write"], findings=[STALE])

    lines = [
        line.text for line in verdict_lines(JudgedRun(target="check-then-write", document=verdict_of(judged)))
    ]

    assert lines[0] == "check-then-write  Found as planned: the storage accepted a stale write"
    assert lines[3].endswith(" Correct example: check-then-write-twin.")


def test_several_runs_end_in_a_line_each() -> None:
    runs = [
        JudgedRun(
            target="etcd-postgres-unfenced",
            document=verdict_of(document("invalid", expected=["stale-write"], findings=[STALE])),
        ),
        JudgedRun(
            target="etcd-postgres",
            document=verdict_of(document(stale_writes_attempted=1, stale_writes_rejected=1)),
        ),
    ]

    held = "etcd-postgres           The fence held: 1 of 1 stale write refused"
    assert [line.text for line in table(runs, [*(run.target for run in runs), "failed"])] == [
        "etcd-postgres-unfenced  Found as planned: the storage accepted a stale write",
        held,
        "failed                  No verdict",
    ]
    assert headline(runs[1]).text.split() == held.split()
