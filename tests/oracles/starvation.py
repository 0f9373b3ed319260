"""The definition of starvation, one piece of time after another: slow and plain.

From one of its grants to the next, a client was refused for longer than five graces while, by the clients'
own accounts, no client held the lock, and no fault was in force on the service or on that client.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from checkers.history.faults import Fault, client_of
from checkers.history.records import Header, Op, Outcome

_ENDS = ("release", "revoke")


def starved(operations: Sequence[Op], header: Header, faults: Sequence[Fault] = ()) -> set[int]:
    """Return the clients of one resource that were starved."""
    clients = {client_of(op.process, header) for op in operations if op.f == "acquire"}
    return {
        client
        for client in clients
        for refused in _refused(client, operations, header)
        if _free(client, refused, operations, header, faults) > 5 * header.grace
    }


def _refused(client: int, operations: Sequence[Op], header: Header) -> Iterator[list[Op]]:
    """Yield the refused acquires of a client between two others, which may have been granted."""
    own = [op for op in operations if op.f == "acquire" and client_of(op.process, header) == client]
    others = [op.index for op in own if op.outcome is not Outcome.FAIL]
    for after, before in pairwise([-math.inf, *others, math.inf]):
        yield [op for op in own if op.outcome is Outcome.FAIL and after < op.index < before]


def _free(
    client: int, refused: Sequence[Op], operations: Sequence[Op], header: Header, faults: Sequence[Fault]
) -> float:
    """Return how long the lock was free while the client waited, in ns."""
    breath = header.grace / 10
    waited = [(op.called, float(op.returned or 0)) for op in refused]
    away = [
        (fault.began, fault.healed + breath + 1)
        for fault in faults
        if fault.client == client or (header.clients is None and fault.client is not None)
    ]
    held = list(_held(operations, header, faults))
    held += [
        (fault.began, fault.healed)
        for fault in faults
        if fault.client is None and not fault.target.startswith("storage")
    ]
    pieces = list(
        pairwise(sorted({moment for spans in (waited, away, held) for span in spans for moment in span}))
    )
    counted = [piece for piece in pieces if _is_in(piece, waited) and not _is_in(piece, away)]
    gaps = [(end, start) for (_, end), (start, _) in pairwise(counted) if start - end <= breath]
    waiting = [piece for piece in pieces if piece in counted or _is_in(piece, gaps)]
    return sum(end - start for start, end in waiting if not _is_in((start, end), held))


def _held(operations: Sequence[Op], header: Header, faults: Sequence[Fault]) -> Iterator[tuple[float, float]]:
    """Yield when a client held the lock, or was giving it back, by the clients' own accounts."""
    for op in operations:
        if op.f in _ENDS:
            yield op.called, op.called if op.learned is None else op.learned
        elif op.f == "acquire" and op.outcome is Outcome.OK:
            yield op.sent, max(op.returned or 0, _over(op, operations, header, faults))


def _over(grant: Op, operations: Sequence[Op], header: Header, faults: Sequence[Fault]) -> float:
    """Return when the holder of a grant stopped believing in it, in ns."""
    own = [op for op in operations if op.owner == grant.owner and not op.precedes(grant)]
    moments = [float(op.called) for op in own if op.f in _ENDS]
    moments += [float(op.returned or 0) for op in own if op.f == "renew" and op.outcome is Outcome.FAIL]
    moments += [
        fault.began if fault.kind == "kill" else fault.healed
        for fault in faults
        if fault.kind in ("kill", "stop") and header.clients is not None
        if (fault.began if fault.kind == "kill" else fault.healed) >= grant.called
        if fault.client == client_of(grant.process, header)
    ]
    return min(moments, default=math.inf)


def _is_in(piece: tuple[float, float], spans: Sequence[tuple[float, float]]) -> bool:
    return any(start <= piece[0] and piece[1] <= end for start, end in spans)
