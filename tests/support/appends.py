"""Literal appends and reads of one list."""

from __future__ import annotations

from dataclasses import replace

from checkers.history.records import Header, History, Op, Outcome


def append(
    called: int, returned: int | None, token: int | None, seen: str | None, element: str, outcome: str = "ok"
) -> Op:
    """Elements are letters: "ab" is a list of two. None: it is unknown which list it read and wrote."""
    return Op(
        index=0,
        process=0,
        f="append",
        resource="r0",
        called=called,
        returned=None if outcome == "info" else returned,
        learned=returned,
        outcome=Outcome(outcome),
        token=token,
        element=element,
        seen=None if seen is None else tuple(seen),
        value=None if seen is None else (*seen, element),
    )


def read(called: int, returned: int, shown: str | None, token: int = 0) -> Op:
    return Op(
        index=0,
        process=0,
        f="read",
        resource="r0",
        called=called,
        returned=returned,
        learned=returned,
        outcome=Outcome.OK,
        token=token,
        value=None if shown is None else tuple(shown),
    )


def history(*operations: Op, initial: str = "", **header: object) -> History:
    """The operations in the order of their calls, each by a process of its own."""
    ordered = sorted(operations, key=lambda op: op.called)
    return History(
        header=Header(target="t", policy="inclusive", initial_value=tuple(initial), **header),
        operations=tuple(
            replace(op, index=index, process=index, lines=(2 * index + 2, 2 * index + 3))
            for index, op in enumerate(ordered)
        ),
    )
