"""A fault that is the cause is a step, and comes where it began: in the steps and in the story."""

from __future__ import annotations

import json

import pytest

from checkers.history.reader import parse
from checkers.history.records import Commit
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Account
from tests.support.repository import HISTORIES


def cut_off(history: str, began: float, healed: float, *commits: Commit) -> Account:
    """The explanation of the only finding, if the storage was cut off in that time; s since its first event."""
    header, *lines = map(json.loads, (HISTORIES / f"{history}.jsonl").read_text().splitlines())
    for line in lines:
        line["time"] += 1_000_000_000
    for moment, state in ((began, "in force"), (healed, "healed")):
        value = {"target": "storage", "state": state, "evidence": "seen"}
        fault = {"process": "nemesis", "type": "info", "f": "partition", "value": value}
        lines.append({"time": round((1 + moment) * 1e9), **fault})
    ordered = [header, *sorted(lines, key=lambda line: line["time"])]
    parsed = parse([json.dumps(line) + "\n" for line in ordered])
    (finding,) = judge(parsed, commits or None).findings
    return finding.account


BEFORE, DURING = (-0.5, 0.05), (0.02, 0.05)  # of a write from 0 to 0.1 s
TWICE = tuple(Commit(seq=seq, resource="r0", token=33, value="0-1") for seq in (1, 2))


@pytest.mark.parametrize(("times", "place"), [(BEFORE, 0), (DURING, 1)])
def test_a_ghost_write_names_its_fault_where_it_began(times: tuple[float, float], place: int) -> None:
    account = cut_off("ghost-write/read", *times)

    assert [bool(step.faults) for step in account.steps].index(True) == place
    assert [" was cut off from " in sentence for sentence in account.story].index(True) == place


@pytest.mark.parametrize(("times", "place"), [(BEFORE, 0), (DURING, 1)])
def test_a_duplicate_write_names_its_fault_where_it_began(times: tuple[float, float], place: int) -> None:
    account = cut_off("duplicate-write/inclusive", *times, *TWICE)

    assert [bool(step.faults) for step in account.steps].index(True) == place
    assert [" was cut off from " in sentence for sentence in account.story].index(True) == place
