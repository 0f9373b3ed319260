"""How lost updates are explained."""

from __future__ import annotations

import json

from checkers.history.reader import parse
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding
from tests.support.repository import HISTORIES


def found(*events: tuple[int, int, str, str, dict[str, object]]) -> Finding:
    """The lost update that is found: of each event the time, the process, the type, the operation and more."""
    header = {"fencepost": 1, "target": "t", "policy": "inclusive", "fence_on_acquire": True}
    lines = [
        {"time": time, "process": process, "type": kind, "f": f, "resource": "r0", **fields}
        for time, process, kind, f, fields in events
    ]
    verdict = judge(parse(json.dumps(line) + "\n" for line in [header, *lines]))
    (finding,) = (each for each in verdict.findings if each.anomaly == "lost-update")
    return finding


def test_an_append_that_does_not_say_so_had_read_all_but_its_element() -> None:
    finding = found(
        (1, 0, "invoke", "append", {"token": 5, "element": "a"}),
        (2, 0, "info", "append", {"token": 5, "element": "a"}),
        (2, 2, "invoke", "append", {"token": 6, "element": "b"}),
        (3, 1, "invoke", "read", {}),
        (4, 1, "ok", "read", {"token": 5, "value": ["x", "y", "a"]}),
        (6, 2, "ok", "append", {"token": 6, "element": "b", "read": ["x", "y"], "written": ["x", "y", "b"]}),
    )

    assert finding.steps[0].endswith(", read a list of 2 elements and wrote it back with 'a'.")


def test_without_an_answer_it_is_not_known_which_list_an_append_had_read() -> None:
    lines = (HISTORIES / "lost-update/of-a-list-read-too-early.jsonl").read_text().splitlines()
    answered = next(line for line in lines if '"type":"ok"' in line and '"element":"1-1"' in line)
    unanswered = json.loads(answered) | {"type": "info", "error": "timed out"}
    del unanswered["read"], unanswered["written"]

    history = parse([json.dumps(unanswered) if line == answered else line for line in lines])

    (finding,) = judge(history).findings
    assert "and it is not known which list it had read." in finding.steps[3]
