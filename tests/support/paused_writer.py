"""A run in which a paused client overwrites newer data: its history and its finding."""

from __future__ import annotations

from typing import Any

from checkers.history.records import FaultEvent, Header, History, Op, Outcome

SECOND = 1_000_000_000

STALE = {
    "anomaly": "stale-write",
    "resource": "r0",
    "summary": "client 1 overwrote r0 with token 33 after token 34 had been written",
    "operations": [2, 5, 7, 9],
    "steps": ["token 33 was granted to client 1", "token 34 was written", "token 33 was accepted after it"],
    "step_lines": [[2, 3], [6, 7], [8, 9]],
    "step_faults": [[], [], []],
    "accused": [8, 9],
    "against": [6, 7],
    "cause": {"certain": True, "fault": "pause", "target": "client:1", "faults": [10, 12]},
}


def paused_history() -> History:
    def op(
        index: int, process: int, f: str, called: int, token: int, lines: tuple[int, int], **rest: Any
    ) -> Op:
        return Op(
            index=index,
            process=process,
            f=f,
            resource="r0",
            called=called,
            returned=called + 1,
            outcome=Outcome.OK,
            token=token,
            lines=lines,
            **rest,
        )

    def fault(time: Any, state: Any, owner: Any, line: int) -> FaultEvent:
        evidence = "status is stopped" if state == "in force" else "status is sleeping"
        return FaultEvent(
            time=time,
            kind="pause",
            target=f"client:{owner[0]}",
            state=state,
            evidence=evidence,
            owner=owner,
            line=line,
        )

    return History(
        header=Header(target="t"),
        started=SECOND,
        operations=(
            op(0, 1, "acquire", SECOND, 33, (2, 3), owner="1-1"),
            op(1, 2, "acquire", 3 * SECOND, 34, (4, 5), owner="2-1"),
            op(2, 2, "write", 4 * SECOND, 34, (6, 7)),
            op(3, 1, "write", 5 * SECOND, 33, (8, 9)),
        ),
        faults=(
            fault(SECOND + SECOND // 2, "in force", "1-1", 10),
            fault(2 * SECOND, "in force", "2-1", 11),
            fault(5 * SECOND, "healed", "1-1", 12),
        ),
    )
