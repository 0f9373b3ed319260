"""Generated histories of any size, as clients of a register would record them.

Every operation takes effect at a moment between its call and its return, with the
answer of a correct register at that moment; some answers get lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.history.columns import (
    ABSENT,
    FAIL,
    INFO,
    NEVER,
    OK,
    READ,
    WRITE,
    Columns,
    Ints,
    Operations,
)
from checkers.history.records import Header, History

Policy = Literal["strict", "inclusive", "plain"]
"""The policy of the fence; plain: no fence."""

_REQUIRE = {"stale_writes_attempted": 0}
_LINE = 2  # the first after the header
_TOOK_EFFECT = 0.5  # of the operations whose answers got lost
_WRITES = 0.5  # of all operations
_LATE = 0.1  # of the writes to a fenced register: with a much older holder's token


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The parameters of a history."""

    operations: int
    clients: int = 20
    lost: float = 0.01  # of all answers
    policy: Policy = "strict"
    resources: int = 1
    wrong: bool = False  # one read returns a value that was replaced long before
    seed: int = 1


def generate(shape: Shape) -> History:
    """Generate a history of this shape."""
    return _generated(shape)[0]


def generate_with_log(shape: Shape) -> tuple[History, Iterator[bytes]]:
    """Generate a history of this shape, and the lines of its commits.jsonl."""
    history, rows = _generated(shape)
    return history, _log_lines(history, rows)


def _generated(shape: Shape) -> tuple[History, Ints]:
    """Generate a history, and the rows of the writes that took effect, in order."""
    rng = np.random.default_rng(shape.seed)
    client, called, returned = _intervals(shape, rng)
    n = len(called)
    f = np.where(rng.random(n) < _WRITES, WRITE, READ)
    resource = rng.integers(0, shape.resources, n)
    lost = rng.random(n) < shape.lost
    happens = ~lost | (rng.random(n) < _TOOK_EFFECT)
    moment = called + (rng.random(n) * (returned - called)).astype(np.int64)
    token = _tokens(shape, rng, moment)
    order = np.lexsort((moment, resource))
    outcome, source, took = _answers(shape, f[order], token[order], happens[order], resource[order], order)
    outcome[order], source[order] = outcome.copy(), source.copy()
    committed = order[took]
    committed = committed[np.argsort(moment[committed], kind="stable")]
    outcome[lost] = INFO
    if shape.wrong:
        _spoil(f, outcome, source, resource, called)
    reads_ok = (f == READ) & (outcome == OK)
    own = np.arange(n) + 1  # the value of each write; 0 is null, the initial value
    value = np.where(f == WRITE, own, np.where(reads_ok, source + 1, 0))
    read_token = np.where(source >= 0, token[source], 0)
    token = np.where(f == WRITE, token, np.where(reads_ok, read_token, ABSENT))
    lines = np.argsort(np.concatenate((called, returned)), kind="stable")
    line = np.empty(2 * n, dtype=np.int64)
    line[lines] = np.arange(2 * n) + _LINE
    columns = Columns(
        f=f.astype(np.int8),
        outcome=outcome.astype(np.int8),
        process=_processes(shape, client, outcome == INFO),
        resource=resource,
        owner=np.full(n, ABSENT),
        value=value,
        token=token,
        called=called,
        returned=np.where(outcome == INFO, NEVER, returned),
        learned=returned,
        ttl=np.full(n, ABSENT),
        attempt=np.full(n, ABSENT),
        error=np.where(outcome == FAIL, 0, ABSENT),
        invoked_line=line[:n],
        completed_line=line[n:],
        resources=[f"r{number}" for number in range(shape.resources)],
        owners=(),
        values=[None, *(f"v{number}" for number in range(n))],
        errors=("stale",),
        initial=0,
    )
    header = Header(target="generated", fenced=shape.policy != "plain", require=_REQUIRE)
    if shape.policy == "inclusive":
        header = replace(header, policy="inclusive")
    return History(header=header, operations=Operations(columns), started=int(called[0])), committed


def _log_lines(history: History, rows: Ints) -> Iterator[bytes]:
    for seq, row in enumerate(rows.tolist(), start=1):
        write = history.operations[row]
        yield log_line(seq, write.resource, write.token, write.value)


def log_line(seq: int, resource: str, token: int | None, value: object) -> bytes:
    """Format a line of commits.jsonl."""
    return msgspec.json.encode({"seq": seq, "resource": resource, "token": token, "value": value}) + b"\n"


def lines(history: History) -> Iterator[str]:
    """Yield the lines of a generated history, as a recorder would write them."""
    header = history.header
    head = {"fencepost": 1, "target": header.target, "fenced": header.fenced, "policy": header.policy}
    yield json.dumps(head | {"require": _REQUIRE}) + "\n"
    events: list[tuple[int, dict[str, Any]]] = []
    for op in history.operations:
        event: dict[str, Any] = {"process": op.process, "f": op.f, "resource": op.resource}
        if op.f == "write":
            event |= {"token": op.token, "value": op.value}
        events.append((op.lines[0], {"time": op.called, "type": "invoke", **event}))
        if op.f == "read" and op.outcome == "ok":
            event |= {"token": op.token, "value": op.value}
        if op.error is not None:
            event["error"] = op.error
        events.append((op.lines[1], {"time": op.learned, "type": op.outcome, **event}))
    events.sort(key=lambda each: each[0])
    encode = json.JSONEncoder(separators=(",", ":")).encode
    yield from (encode(event) + "\n" for _, event in events)


def _intervals(shape: Shape, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Return the client, the call and the return of each operation, ordered by call."""
    each = -(-shape.operations // shape.clients)
    takes = rng.integers(50_000, 2_000_000, (shape.clients, each))  # ns
    waits = rng.integers(1_000, 500_000, (shape.clients, each))
    returned = np.cumsum(takes + waits, axis=1)
    called = returned - takes
    client = np.repeat(np.arange(shape.clients), each)
    order = np.argsort(called.ravel(), kind="stable")[: shape.operations]
    return client[order], called.ravel()[order], returned.ravel()[order]


def _tokens(shape: Shape, rng: np.random.Generator, moment: Ints) -> Ints:
    """Return tokens that rise with time; some clients of a fenced register have an old one."""
    n = len(moment)
    if shape.policy == "plain":
        rising = np.empty(n, dtype=np.int64)
        rising[np.argsort(moment, kind="stable")] = np.arange(n) + 1
        return rising
    writes_each = 4 if shape.policy == "inclusive" else 1
    held = np.arange(n) // writes_each + 1
    late = rng.random(n) < _LATE
    token: Ints = np.maximum(held - np.where(late, rng.integers(1, 200, n), 0), 1)
    return token


def _answers(
    shape: Shape, f: Ints, token: Ints, happens: NDArray[np.bool_], resource: Ints, rows: Ints
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return the answer of each operation, in the order of effects, and which writes took effect.

    A read's source is a row, or -1.
    """
    span = int(token.max()) + 2
    tried = np.where((f == WRITE) & happens, token, 0) + resource * span
    before = np.empty_like(tried)
    before[0] = 0
    before[1:] = np.maximum.accumulate(tried)[:-1]
    own = token + resource * span
    mark = np.maximum(before, resource * span)
    accepts = own > mark if shape.policy == "strict" else own >= mark
    if shape.policy == "plain":
        accepts = np.ones_like(accepts)
    outcome = np.where((f == READ) | accepts, OK, FAIL)
    took = (f == WRITE) & happens & accepts
    last = np.maximum.accumulate(np.where(took, np.arange(len(f)), -1))
    known = (last >= 0) & (resource[last] == resource)
    return outcome, np.where(known, rows[last], -1), took


def _spoil(f: Ints, outcome: Ints, source: Ints, resource: Ints, called: Ints) -> None:
    """Let one read return the result of a much earlier one."""
    reads = np.flatnonzero((f == READ) & (outcome == OK) & (source >= 0))
    if len(reads):
        late = reads[len(reads) * 3 // 4]
        same = reads[(resource[reads] == resource[late]) & (called[reads] <= called[late])]
        source[late] = source[same[len(same) // 2]]


def _processes(shape: Shape, client: Ints, lost: Ints) -> Ints:
    """Return process numbers: a client gets another one after each lost answer."""
    order = np.argsort(client, kind="stable")
    before = np.cumsum(lost[order]) - lost[order]
    first = np.searchsorted(client[order], np.arange(shape.clients))
    process = np.empty(len(client), dtype=np.int64)
    process[order] = client[order] + shape.clients * (
        before - before[np.minimum(first, len(order) - 1)][client[order]]
    )
    return process
