"""Literal requests for one lock, by clients that wait for it.

The longest lease is 3 ns and the grace 10, so a lock is stuck if it takes more than 13;
a breath between two acquires is 1.
"""

from __future__ import annotations

from dataclasses import replace

from checkers.facts.evidence import Evidence, gather
from checkers.facts.stuck_stretches import stretches
from checkers.history.records import FaultEvent, Header, History, Op, Outcome

LEASE, GRACE, BREATH = 3, 10, 1


def op(f: str, owner: str, called: int, ended: int | None, outcome: str, **fields: object) -> Op:
    ttl = LEASE if f in {"acquire", "renew"} and outcome == "ok" else None
    return Op(
        **{
            "index": 0,
            "process": int(owner),
            "f": f,
            "resource": "r0",
            "called": called,
            "returned": None if outcome == "info" else ended,
            "learned": ended,
            "outcome": Outcome(outcome),
            "owner": owner,
            "token": called if f == "acquire" and outcome == "ok" else None,
            "ttl": ttl,
            **fields,
        }
    )


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
    return Op(
        index=index,
        process=index,
        f="acquire",
        resource="r0",
        called=called,
        returned=returned,
        outcome=Outcome.OK,
        owner=owner,
        token=token,
        ttl=ttl,
    )


def locks(*operations: Op) -> Evidence:
    return Evidence(history=History(header=Header(target="test"), operations=operations))
