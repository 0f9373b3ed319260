"""A finding reads as a newcomer needs it: one sentence, then because-steps with lines and times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import checkers

FOLDER = Path(__file__).parent / "histories"


def only_finding(name: str) -> checkers.Finding:
    path = FOLDER / f"{name}.jsonl"
    commits = path.with_suffix(".commits.jsonl")
    order = checkers.read_commits(commits) if commits.exists() else None
    (finding,) = checkers.judge(checkers.read(path), order).findings
    return finding


def test_a_stale_write_is_told_with_the_pause_that_opened_the_window():
    finding = only_finding("stale-write-observed")

    assert finding.summary == (
        "process 0 wrote '0-1' with token 33 to r0"
        " after the storage had accepted '1-1' with the newer token 34"
    )
    assert finding.steps == (
        "Process 0 was granted the lock on r0 with token 33 at 0.100 s (line 3).",
        "Meanwhile client 0 was stopped from 0.300 s to 4.000 s (lines 5 and 9).",
        "Process 1 was granted the lock on r0 with token 34 at 2.500 s (line 6).",
        "Process 1 wrote '1-1' with token 34, and the storage said ok at 2.700 s (line 8).",
        "Process 0 sent '0-1' with the older token 33 at 4.100 s (line 10).",
        (
            "The storage accepted it at 4.200 s (line 11), and it took effect, although token 33"
            " is below 34: a storage that fences refuses it."
        ),
    )
    assert finding.operations == (4, 6, 7, 8, 10, 11)


def test_the_storage_s_own_order_is_told_where_it_decides():
    assert only_finding("stale-write-committed-only").steps[-1] == (
        "The storage accepted it at 4.500 s (line 9). In the storage's own order '1-1' is number 1"
        " and '0-1' is number 2: token 33 after token 34."
    )


def test_a_write_that_was_under_way_is_told_in_the_order_of_time():
    finding = only_finding("stale-write-seen-by-a-read")

    assert finding.steps == (
        "Process 0 sent '0-1' with the older token 33 at 0.000 s (line 2).",
        "Process 1 wrote '1-1' with token 34, and the storage said ok at 1.200 s (line 5).",
        (
            "A read by process 2, called after that at 2.200 s (line 8), returned '0-1': so the"
            " write with the older token 33 took effect after the one with token 34 and"
            " overwrote it."
        ),
    )


def test_an_operation_against_the_storage_s_own_order_is_told():
    assert only_finding("stale-read-committed").summary == (
        "process 2 read '0-1' from r0 although '1-1', which the storage's own order puts after it,"
        " had been accepted before"
    )
    assert only_finding("non-linearizable-against-the-log").summary == (
        "process 0 wrote 'b' to r0 after 'a' had been accepted, and the storage's own order puts it before"
    )


def test_a_rejection_without_a_cause_is_told_against_all_writes():
    assert only_finding("false-rejection-inclusive-own-token").steps[-1] == (
        "But no write with token more than 33 can have taken effect before this refusal came back:"
        " those that did, if any, were called later or stood after one that was."
    )


def test_an_early_grant_says_until_when_the_lease_was_promised():
    finding = only_finding("early-grant-renewed")

    assert finding.summary == (
        "process 1 was granted the lock on r0 at 3.000 s,"
        " while the lease of process 0 was promised until 3.500 s"
    )
    assert finding.steps[1] == (
        "Its lease was last asked for at 1.500 s and promised until 3.500 s (line 6)."
    )


def test_either_of_two_readings_is_told_as_both():
    finding = only_finding("non-linearizable-false-or-stale")

    assert finding.summary.startswith("either the storage wrongly refused 'c' with token 5")
    assert finding.steps[-1] == (
        "Both cannot be right: the refusal was false, or the later operation was stale."
    )


def _lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.jsonl").read_text().splitlines()


def with_fault(target: str, kind: str = "pause", **hold: str) -> tuple[str, ...]:
    """The steps of the first history, with another fault in place of its own."""
    lines = [json.loads(line) for line in _lines("stale-write-observed")]
    for line in lines:
        if line.get("process") == "nemesis":
            line["f"] = kind
            line["value"] |= {"target": target, **hold}
    (finding,) = checkers.judge(checkers.parse([json.dumps(line) + "\n" for line in lines])).findings
    return finding.steps


@pytest.mark.parametrize(
    ("target", "kind", "hold", "says"),
    [
        ("client:0", "pause", {"owner": "0-1", "resource": "r0"}, "client 0 was stopped"),
        ("client:0", "partition", {"owner": "0-1"}, "client 0 was cut off"),
        ("lock", "kill", {}, "lock was killed"),
        ("storage", "delay", {}, "delay of storage was in force"),
    ],
)
def test_a_fault_of_the_holder_or_of_a_server_is_told(target, kind, hold, says):
    assert any(f"Meanwhile {says} from" in step for step in with_fault(target, kind, **hold))


@pytest.mark.parametrize(
    ("target", "hold"),
    [("client:3", {}), ("client:1", {"owner": "1-1", "resource": "r0"})],
)
def test_a_fault_of_somebody_else_is_not_told(target, hold):
    assert not any("Meanwhile" in step for step in with_fault(target, **hold))
