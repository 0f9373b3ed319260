"""The plan's table: as many faults count there as in the sentence about effort."""

from __future__ import annotations

import json
from typing import Any

from checkers.history.reader import History, parse
from checkers.verdict.judge import judge
from harness.report.fault_rows import fault_rows
from harness.report.recorded_plan import RecordedFault

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
