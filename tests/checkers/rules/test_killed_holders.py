"""Holders that were killed: they count, and believe nothing any more."""

from __future__ import annotations

import json
from typing import Any

from checkers.history.reader import parse
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Verdict

SECOND = 1_000_000_000


def grant(process: int, called: int, token: int) -> list[dict[str, Any]]:
    line = {"process": process, "f": "acquire", "resource": "r0", "owner": f"{process}-1"}
    answer = {"type": "ok", "time": (called + 1) * SECOND, "token": token, "ttl": 2 * SECOND}
    return [line | {"type": "invoke", "time": called * SECOND}, line | answer]


def kill(time: int, target: str) -> dict[str, Any]:
    value = {"target": target, "state": "in force", "evidence": "SIGKILL"}
    return {"time": time * SECOND, "process": "nemesis", "type": "info", "f": "kill", "value": value}


def verdict(*lines: dict[str, Any], clients: int | None = 2) -> Verdict:
    header = {"fencepost": 1, "target": "t", "require": {"stale_writes_attempted": 0}}
    first = header if clients is None else header | {"clients": clients}
    return judge(parse([json.dumps(line) + "\n" for line in (first, *lines)]))


def test_the_kill_of_a_client_counts_although_it_has_no_end() -> None:
    assert verdict(*grant(0, 0, 1), kill(1, "client:0")).coverage["kills"] == 1
    assert verdict(*grant(0, 0, 1), kill(2, "client:0")).coverage["kills"] == 0  # its lease was over


def test_the_kill_of_a_server_counts_only_once_it_is_usable_again() -> None:
    assert verdict(*grant(0, 0, 1), kill(2, "lock")).coverage["kills"] == 0


def test_a_killed_holder_believes_nothing_any_more() -> None:
    found = verdict(*grant(0, 0, 1), kill(2, "client:0"), *grant(1, 6, 2))

    assert found.anomalies["double-belief"] == 0


def test_another_clients_kill_changes_no_belief() -> None:
    found = verdict(*grant(0, 0, 1), kill(2, "client:1"), *grant(1, 6, 2))

    assert found.anomalies["double-belief"] == 1


def test_a_kill_after_the_next_grant_comes_too_late() -> None:
    found = verdict(*grant(0, 0, 1), *grant(1, 6, 2), kill(8, "client:0"))

    assert found.anomalies["double-belief"] == 1
