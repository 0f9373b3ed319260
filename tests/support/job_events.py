"""Events of jobs as lines of a history: literal ones for tests of the reader and of the rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from checkers.history.reader import parse
from checkers.history.records import History

QUEUE = "q0"
LEASE, GRACE = 10, 20
HEADER = {
    "fencepost": 1,
    "target": "t",
    "ttl": LEASE,
    "grace": GRACE,
    "clients": 10,
    "require": {"stale_writes_attempted": 0},
}

Event = dict[str, Any]


def did(
    f: str, process: int, called: int, end: int | None = None, outcome: str = "ok", **more: Any
) -> list[Event]:
    """An operation on the queue: its call, and its answer unless it is still open.

    `answer` has the fields that only the answer carries.
    """
    answer = more.pop("answer", {})
    call = {"time": called, "process": process, "type": "invoke", "f": f, "resource": QUEUE, **more}
    return [call] if end is None else [call, {**call, "time": end, "type": outcome, **answer}]


def submit(job: str, called: int, end: int | None, due: int = 0, outcome: str = "ok") -> list[Event]:
    return did("submit", 0, called, end, outcome, job=job, due=due)


def take(
    worker: int, called: int, end: int | None = None, outcome: str = "fail", job: str = ""
) -> list[Event]:
    return did("take", worker, called, end, outcome, answer={"job": job} if job else {})


def execute(
    job: str, worker: int, called: int, end: int | None = None, outcome: str = "ok", ended: int | None = None
) -> list[Event]:
    """An execution whose owner is its worker and its call; an ok one ended when its answer came, by default."""
    known = end if ended is None and outcome == "ok" else ended
    answer = {} if known is None else {"ended": known}
    return did("execute", worker, called, end, outcome, job=job, owner=f"{worker}-{called}", answer=answer)


def heartbeat(
    worker: int, begun: int, called: int, end: int | None = None, outcome: str = "ok"
) -> list[Event]:
    """A heartbeat of the execution that this worker began at `begun`."""
    return did("heartbeat", worker + 10, called, end or called, outcome, owner=f"{worker}-{begun}")


def fault(target: str, began: int, healed: int | None = None, kind: str = "pause") -> list[Event]:
    moments = [("in force", began), *([] if healed is None else [("healed", healed)])]
    event = {"process": "nemesis", "type": "info", "f": kind}
    return [
        {"time": time, **event, "value": {"target": target, "state": state, "evidence": "seen"}}
        for state, time in moments
    ]


def lines(operations: Iterable[Sequence[Event]], **header: Any) -> list[str]:
    """Their events in the order of time, after the header."""
    events = sorted(chain.from_iterable(operations), key=lambda event: event["time"])
    return [json.dumps(each) + "\n" for each in (HEADER | header, *events)]


def history(*operations: Sequence[Event], **header: Any) -> History:
    return parse(lines(operations, **header))
