"""Small simulated runs of correct and broken storages, with their logs.

Clients call at random moments, each operation takes effect at some moment of its
interval, and the storage acts by its kind. Few operations, few tokens and many ties in
time, so that an oracle can try everything.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from checkers.history.records import Commit, FaultEvent, Header, History, Op, Outcome
from tests.support.broken_storages import FENCED, KILLED, RESOURCE, RIGHT, TWICE, Request, Storage


@dataclass(frozen=True)
class Run:
    """A simulated run: the history to judge, and what an oracle needs to know."""

    kind: str
    history: History
    commits: tuple[Commit, ...]
    restarts: tuple[tuple[float, float], ...] = ()


def simulate(rng: random.Random, kind: str) -> Run:
    """One run of a storage of some kind."""
    strict = rng.random() < 0.5
    fenced = not (kind == "no fence" and rng.random() < 0.4)
    initial = rng.choice([0, 0, 0, 1])
    storage = Storage(rng=rng, strict=strict, kind=kind, initial_token=initial)
    requests = _requests(rng, kind)
    is_killed = kind == "lost on restart" or (kind in KILLED and rng.random() < 0.4)
    restart = rng.choice([3.5, 5.5, 7.5]) if is_killed else None
    done = _carry_out(rng, storage, requests, restart)
    commits = _logged(rng, kind, storage.log)
    operations = _renumbered(done)
    if kind == "wrong reads":
        operations = _with_a_wrong_read(rng, operations)
    cut = kind == "cut history"
    if cut and operations:
        end = rng.randint(1, 8)
        operations = tuple(op for op in operations if op.called <= end)
        operations = tuple(
            op
            if op.returned is None or op.returned <= end
            else replace(op, returned=None, outcome=Outcome.INFO, learned=None, error=None)
            for op in operations
        )
        operations = tuple(op for op in operations if op.f != "read" or op.outcome is Outcome.OK)
        operations = _renumbered(list(operations))
    faults = () if restart is None else _restart_events(int(restart))
    header = Header(
        target="t",
        policy="strict" if strict else "inclusive",
        fenced=fenced,
        initial_token=initial,
        require={},
    )
    history = History(
        header=header,
        operations=operations,
        faults=faults,
        notices=("the last line is only half written",) if cut else (),
    )
    restarts = () if restart is None else ((float(int(restart)), float(int(restart) + 1)),)
    return Run(kind, history, commits, restarts)


def _restart_events(moment: int) -> tuple[FaultEvent, ...]:
    return (
        FaultEvent(time=moment, kind="kill", target="storage", state="in force", evidence="gone", line=90),
        FaultEvent(time=moment + 1, kind="kill", target="storage", state="healed", evidence="back", line=91),
    )


def _requests(rng: random.Random, kind: str) -> list[Request]:
    tokens: Sequence[int] = rng.choice([(1, 2), (1, 2, 3), (2, 3, 4), (0, 1, 2)])
    if kind == "string comparison":
        tokens = (8, 9, 10, 11)
    now = [rng.randint(0, 3) for _ in range(rng.randint(2, 4))]
    rising = rng.random() < 0.6
    requests = []
    for index in range(rng.randint(2, 7)):
        client = rng.randrange(len(now))
        called = now[client] + rng.choice([0, 1, 1, 2])
        returned = called + rng.choice([0, 1, 1, 2, 4])
        now[client] = returned + 1
        f = "read" if rng.random() < 0.35 else "write"
        if kind in FENCED and f == "write" and rng.random() < 0.35:
            f = "fence"
        token: int | None = rng.choice(tokens)
        if rising and rng.random() < 0.7:
            token = tokens[min(len(tokens) - 1, called // 4)]
        is_bare = f == "write" and (
            rng.random() < 0.04 * (kind not in RIGHT) or (kind == "tokenless path" and rng.random() < 0.3)
        )
        is_info = f != "read" and rng.random() < (0.5 if kind == "late infos pass" else 0.2)
        moment = rng.uniform(called, returned)
        moments = [moment]
        if is_info:
            late = rng.random()
            moments = [] if late < 0.25 else [moment + rng.choice([0, 0, 2, 4, 8])]
        if kind in TWICE and f == "write" and moments and rng.random() < 0.5:
            again = (
                rng.uniform(moments[0], returned)
                if kind == "check then write"
                else moments[0] + rng.choice([1, 3, 5])
            )
            moments = sorted((*moments, again))
        op = Op(
            index=index,
            process=client if not is_info else client + 10 * (index + 1),
            f=f,
            resource=RESOURCE,
            called=called,
            returned=None if is_info else returned,
            outcome=Outcome.INFO if is_info else Outcome.OK,
            token=None if f == "read" or is_bare else token,
            value=f"v{index}" if f == "write" else None,
            learned=None if is_info else returned,
        )
        requests.append(Request(op, moments))
    return requests


def _carry_out(
    rng: random.Random, storage: Storage, requests: Sequence[Request], restart: float | None
) -> list[Op]:
    done = {request.op.index: request.op for request in requests}
    steps: list[tuple[float, float, Callable[[], None]]] = []
    for request in requests:
        for turn, moment in enumerate(request.moments):
            steps.append((moment, rng.random(), _step(storage, request, turn, done)))
    if storage.kind == "stray writers":
        steps += [
            (rng.uniform(0, 9), rng.random(), _unknown_writer(rng, storage, number))
            for number in range(rng.randint(1, 2))
        ]
    if restart is not None and storage.kind == "lost on restart":
        steps.append((restart - rng.choice([0.5, 1.5, 2.5]), 0, storage.save))
        steps.append((restart, 1, storage.restart))
    for _, _, step in sorted(steps, key=lambda each: each[:2]):
        step()
    return list(done.values())


def _step(storage: Storage, request: Request, turn: int, done: dict[int, Op]) -> Callable[[], None]:
    op = request.op

    def step() -> None:
        if op.f == "read":
            value, token = storage.read(op)
            done[op.index] = replace(op, value=value, token=token)
            return
        said = storage.fence(op) if op.f == "fence" else storage.write(op, turn, len(request.moments))
        first = turn == 0 or storage.kind == "check then write"
        if first and isinstance(said, str) and said not in {"ok", "later"} and op.outcome is Outcome.OK:
            done[op.index] = replace(op, outcome=Outcome.FAIL, error=said)

    return step


def _unknown_writer(rng: random.Random, storage: Storage, number: int) -> Callable[[], None]:
    token = rng.choice([1, 2, 3, 4])
    how = rng.choice(["through the fence", "past the fence", "without a token", "fence"])

    def step() -> None:
        if how == "fence":
            storage.mark = max(storage.mark, token)
            storage.log.append((token, None, True))
        elif how == "without a token":
            storage.store(None, f"s{number}", None)
        elif how == "past the fence" or storage.accepts(token):
            mark = max(storage.mark, token)
            storage.store(token, f"s{number}", token)
            storage.mark = mark

    return step


def _logged(
    rng: random.Random, kind: str, log: Sequence[tuple[int | None, str | None, bool]]
) -> tuple[Commit, ...]:
    log = list(log)
    if kind == "log reordered" and len(log) > 1:
        at = rng.randrange(len(log) - 1)
        log[at], log[at + 1] = log[at + 1], log[at]
    if kind == "log lacks entries" and log:
        log.pop(rng.randrange(len(log)))
    if kind == "log repeats entries" and log:
        log.insert(rng.randint(0, len(log)), rng.choice(log))
    if kind == "another run's log":
        log = [(token, f"x{place}", fence) for place, (token, _, fence) in enumerate(log)]
    return tuple(
        Commit(seq=seq, resource=RESOURCE, token=token, value=None if fence else value, fence=fence)
        for seq, (token, value, fence) in enumerate(log, start=1)
    )


def _with_a_wrong_read(rng: random.Random, operations: tuple[Op, ...]) -> tuple[Op, ...]:
    reads = [op for op in operations if op.f == "read"]
    writes = [op for op in operations if op.f == "write"]
    if not reads or not writes:
        return operations
    read, write = rng.choice(reads), rng.choice(writes)
    wrong = replace(read, value=write.value, token=rng.choice([write.token, write.token, None, 3]))
    return tuple(wrong if op is read else op for op in operations)


def _renumbered(operations: list[Op]) -> tuple[Op, ...]:
    """In the order of the calls, with lines as a file of this history would have them."""
    ordered = sorted(operations, key=lambda op: (op.called, op.index))
    events = sorted(
        [(op.called, 0, place) for place, op in enumerate(ordered)]
        + [(op.returned, 1, place) for place, op in enumerate(ordered) if op.returned is not None]
    )
    lines: dict[int, list[int]] = {}
    for line, (_, _, place) in enumerate(events, start=2):
        lines.setdefault(place, []).append(line)
    return tuple(replace(op, index=place, lines=tuple(lines[place])) for place, op in enumerate(ordered))
