"""The words for a storage that was killed, and for what it lost by that."""

from __future__ import annotations

import json
from collections.abc import Mapping

from checkers.history.reader import parse
from checkers.history.records import Commit
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Account
from tests.support.repository import HISTORIES

COMMITS = Commit(seq=1, resource="r0", token=33, value="a"), Commit(seq=2, resource="r0", token=35, value="c")


def killed(history: str, *commits: Commit, unanswered: str = "") -> Mapping[str, Account]:
    """What is found in a history whose storage is killed at 0.55 s, and seen up again at 0.95 s; by anomaly.

    The write of the `unanswered` value never learns its outcome.
    """
    header, *lines = map(json.loads, (HISTORIES / f"{history}.jsonl").read_text().splitlines())
    lines = [
        line
        for line in lines
        if line["process"] != "nemesis"
        and (line["f"], line["type"], line.get("value")) != ("write", "ok", unanswered)
    ]
    for moment, state in ((0.55, "in force"), (0.95, "healed")):
        value = {"target": "storage", "state": state, "evidence": "seen"}
        fault = {"process": "nemesis", "type": "info", "f": "kill", "value": value}
        lines.append({"time": round(moment * 1e9), **fault})
    ordered = [header, *sorted(lines, key=lambda line: line["time"])]
    parsed = parse([json.dumps(line) + "\n" for line in ordered])
    return {each.anomaly: each.account for each in judge(parsed, commits or None).findings}


def test_a_read_is_not_said_to_come_after_the_storage_was_up_again() -> None:
    account = killed("high-water-regression/plain")["high-water-regression"]

    assert account.story == (
        "Process 2 read 'b' with token 34 from r0.",
        "The storage was killed at 0.550 s.",
        "Then process 2 read 'a' with token 33: the storage has forgotten the higher token.",
    )
    assert not any("After that" in step.text for step in account.steps)


def test_a_lost_write_that_a_client_had_read_says_who_read_it() -> None:
    account = killed("high-water-regression/plain", unanswered="b")["lost-write"]

    assert account.story[0] == "Process 1 wrote 'b' with token 34 to r0, and process 2 read it."


def test_a_lost_write_that_no_client_read_had_been_acknowledged() -> None:
    account = killed("lost-write/committed", *COMMITS)["lost-write"]

    assert account.story[0].endswith(", and the storage acknowledged it.")
