"""Literal requests for one lock, by clients that wait for it.

The longest lease is 3 ns and the grace 10, so a lock is stuck if it takes more than 13;
a breath between two acquires is 1.
"""

from __future__ import annotations

from dataclasses import replace

from checkers.facts.evidence import Evidence, gather
from checkers.facts.stuck_stretches import stretches
from checkers.history.records import FaultEvent, Header, History, Op
from tests.support.brute_force import operation

LEASE, GRACE, BREATH = 3, 10, 1


def op(f: str, owner: str, called: int, ended: int | None, outcome: str, **fields: object) -> Op:
    ttl = LEASE if f in {"acquire", "renew"} and outcome == "ok" else None
    token = called if f == "acquire" and outcome == "ok" else None
    known = {"owner": owner, "token": token, "ttl": ttl, **fields}
    return operation(f, int(owner), called, ended, outcome, **known)


def refused(called: int, returned: int, owner: str = "1") -> Op:
    """A client that waited, and was refused in the end."""
    return op("acquire", owner, called, returned, "fail")


def granted(called: int, returned: int, owner: str = "0", **fields: object) -> Op:
    return op("acquire", owner, called, returned, "ok", **fields)


def fault(target: str, began: int, healed: int | None, kind: str = "pause") -> list[FaultEvent]:
    moments = [("in force", began), *([] if healed is None else [("healed", healed)])]
    return [
        FaultEvent(time=time, kind=kind, target=target, state=state, evidence="") for state, time in moments
    ]


def run(*operations: Op, faults: list[FaultEvent] | None = None, **header: object) -> Evidence:
    ordered = sorted(operations, key=lambda each: each.called)
    return gather(
        History(
            header=Header(**{"target": "t", "grace": GRACE, "ttl": LEASE, "clients": 10, **header}),
            operations=tuple(
                replace(each, index=index, lines=(index + 2,)) for index, each in enumerate(ordered)
            ),
            faults=tuple(faults or []),
        )
    )


def stuck(*operations: Op, **more: object) -> list[tuple[float, float]]:
    return [(each.start, each.end) for each in stretches(run(*operations, **more))]


def acquire(index: int, owner: str, token: int, called: int, returned: int, ttl: int | None = None) -> Op:
    granted = {"index": index, "owner": owner, "token": token, "ttl": ttl, "learned": None}
    return operation("acquire", index, called, returned, **granted)


def locks(*operations: Op) -> Evidence:
    return Evidence(history=History(header=Header(target="test"), operations=operations))
