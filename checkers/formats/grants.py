"""Grants recorded by other tools, as a history of ours, so that their tokens are judged.

They have no leases, so nothing is promised and no grant is early. Two rules
remain: no two holds share a token, and tokens rise with time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from checkers.formats.event import Call, Foreign
from checkers.formats.operations import resource, token
from checkers.history.operation import NO_VALUE
from checkers.history.records import Header, History, Op, Outcome


def grants_of(history: Foreign, *, reentrant: bool) -> History:
    """Return the acquires and releases of a history; grants without a token are dropped.

    Times are the file's own where it has them, raised to follow the order of its events;
    otherwise they are the positions of the events.

    Raises:
        CallError: a grant's value is no token.
    """
    times = rising_times(history.calls)
    owners: dict[tuple[object, int], str] = {}  # of holds: the process, and the line of the first acquire
    depth: dict[tuple[object, int], int] = defaultdict(int)
    operations: list[Op] = []
    for call in history.calls:
        if call.f not in {"acquire", "release"}:
            continue  # in our own histories: the values that the lock protects
        holder, is_acquire, ok = (call.key, call.process), call.f == "acquire", call.outcome is Outcome.OK
        if holder not in owners or (is_acquire and not (reentrant and depth[holder])):
            owners[holder] = f"{call.process}-{call.lines[0]}"
        if ok:
            depth[holder] = max(0, depth[holder] + (1 if is_acquire else -1))
        given = token(call) if is_acquire and ok else NO_VALUE
        if given is not None:
            op = op_of(call, "mutex", len(operations), times)
            operations.append(replace(op, owner=owners[holder], token=None if given is NO_VALUE else given))
    started = operations[0].called if operations else 0
    header = Header(target=history.name, fenced=False, require={})
    return History(header=header, operations=tuple(operations), started=started)


def op_of(call: Call, model: str, index: int, times: dict[int, int]) -> Op:
    """Return a call on an object of `model` as an operation of ours, without owner, token and value."""
    return Op(
        index=index,
        process=call.process,
        f=call.f,
        resource=resource(call, model),
        called=times[call.called],
        returned=None if call.returned is None else times[call.returned],
        outcome=call.outcome,
        learned=None if call.completed is None else times[call.completed],
        lines=call.lines,
    )


def rising_times(calls: Sequence[Call]) -> dict[int, int]:
    """Return a time for each position, in ns; times rise with positions."""
    recorded: dict[int, int | None] = {}
    for call in calls:
        recorded[call.called] = call.times[0]
        if call.completed is not None:
            recorded[call.completed] = call.times[1]
    times: dict[int, int] = {}
    now = -1
    for place in sorted(recorded):
        now = max(recorded[place] or 0, now + 1)
        times[place] = now
    return times
