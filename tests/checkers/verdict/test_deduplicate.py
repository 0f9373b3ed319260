"""One finding for each event: a name does not hide another event of the same operation."""

from __future__ import annotations

import json

from checkers.history.reader import parse
from checkers.verdict.judge import judge

HEADER = '{"fencepost":1,"target":"t","ttl":4,"grace":10,"clients":2}'


def acquire(time: int, process: int, kind: str, owner: str, **fields: object) -> str:
    event = {"time": time, "process": process, "type": kind, "f": "acquire", "resource": "r0"}
    return json.dumps(event | {"owner": owner} | fields)


def test_an_early_grant_does_not_hide_that_the_lock_was_stuck_before() -> None:
    history = parse(
        [
            HEADER,
            acquire(2, 0, "invoke", "a"),
            acquire(5, 1, "invoke", "b"),
            acquire(22, 0, "fail", "a", error="not free in time"),
            acquire(23, 0, "invoke", "c"),
            acquire(45, 1, "ok", "b", token=1, ttl=4, attempt=45),
            acquire(48, 0, "ok", "c", token=2, ttl=4, attempt=48),
        ]
    )

    (finding,) = judge(history).findings

    assert (finding.anomaly, finding.also) == ("early-grant", ("stuck-lock",))
