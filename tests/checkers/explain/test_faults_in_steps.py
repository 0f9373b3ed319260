"""A fault is a step of an explanation if it hit the holder or its servers."""

from __future__ import annotations

import json

import pytest

import checkers
from tests.support.repository import HISTORIES

HISTORY = HISTORIES / "stale-write-observed.jsonl"


def with_fault(target: str, kind: str = "pause", **hold: str) -> tuple[str, ...]:
    """The steps of its finding, with another fault in place of the pause."""
    lines = [json.loads(line) for line in HISTORY.read_text().splitlines()]
    for line in lines:
        if line.get("process") == "nemesis":
            line["f"] = kind
            line["value"] |= {"target": target, **hold}
    (finding,) = checkers.judge(checkers.parse([json.dumps(line) + "\n" for line in lines])).findings
    return finding.steps


@pytest.mark.parametrize(
    ("target", "kind", "hold", "says"),
    [
        ("client:0", "pause", {"owner": "0-1", "resource": "r0"}, "Process 0 was paused"),
        ("client:0", "partition", {"owner": "0-1"}, "Process 0 was cut off"),
        ("lock", "kill", {}, "The lock service was down"),
        ("storage", "delay", {}, "The storage was hit by delay"),
    ],
)
def test_a_fault_of_the_holder_or_of_a_server_is_explained(
    target: str, kind: str, hold: dict[str, str], says: str
) -> None:
    assert any(step.startswith(f"{says} 0.300–4.000 s") for step in with_fault(target, kind, **hold))


@pytest.mark.parametrize(
    ("target", "hold"),
    [("client:3", {}), ("client:1", {"owner": "1-1", "resource": "r0"})],
)
def test_a_fault_of_another_client_is_not_explained(target: str, hold: dict[str, str]) -> None:
    assert not any("was paused" in step for step in with_fault(target, **hold))
