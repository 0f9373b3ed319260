"""Small runs of storages that are broken in one way each, and of right ones, with the log that they keep.

Each run is simulated: clients call at random moments, each operation takes effect at some
moment of its interval, and the storage does what its kind does then. Few operations, few
tokens, many ties in time, so that an oracle can try everything.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from checkers.history.records import Commit, FaultEvent, Header, History, Op, Outcome

RESOURCE = "r0"
NEVER = 1 << 40


@dataclass
class Request:
    """What a client asks, and the moments at which it takes effect (usually one)."""

    op: Op
    moments: list[float]


@dataclass
class Storage:
    """A right storage: one mark, one value, one log."""

    rng: random.Random
    strict: bool
    initial_token: int = 0
    kind: str = "right"
    value: str | None = None
    token: int | None = 0
    mark: int = 0
    log: list[tuple[int | None, str | None, bool]] = field(default_factory=list)
    states: list[tuple[str | None, int | None]] = field(default_factory=list)
    checked: dict[int, bool] = field(default_factory=dict)
    seen: dict[int, tuple[str | None, int | None]] = field(default_factory=dict)
    saved: tuple[object, ...] | None = None

    def __post_init__(self) -> None:
        self.token = self.mark = self.initial_token
        self.states.append((self.value, self.token))

    def accepts(self, token: int) -> bool:
        if self.kind == "string comparison":
            one, other = str(token), str(self.mark)
            return one > other or (not self.strict and one == other)
        if self.kind == "equality fence":
            return token != self.mark or not self.strict
        return token > self.mark or (not self.strict and token == self.mark)

    def store(self, token: int | None, value: str | None, logged: int | None) -> None:
        self.value, self.token = value, token
        if token is not None:
            self.mark = token
        self.log.append((logged, value, False))
        self.states.append((self.value, self.token))

    def write(self, op: Op, turn: int, turns: int) -> Outcome | str:
        if self.kind == "high-water reset" and self.rng.random() < 0.3:
            self.mark = 0
        if op.token is None:
            self.store(None, op.value, None)
            return Outcome.OK
        accepted = self._is_let_through(op, op.token, turn)
        if self.kind == "check then write" and turn + 1 < turns:
            return "later" if accepted else "stale"
        return self._kept(op, op.token) if accepted else self._refused(op, op.token)

    def _is_let_through(self, op: Op, token: int, turn: int) -> bool:
        kind = self.kind
        if kind == "check then write":
            if turn == 0 or op.index not in self.checked:
                self.checked[op.index] = self.accepts(token)
            return self.checked[op.index]
        if turn > 0:
            return kind != "retried through the fence" or self.accepts(token)
        if kind == "no fence" or (kind == "late infos pass" and op.outcome is Outcome.INFO):
            return True
        if kind == "rejects wrongly" and self.rng.random() < 0.4:
            return False
        return self.accepts(token)

    def _refused(self, op: Op, token: int) -> str:
        if self.kind == "ghost" and self.rng.random() < 0.5:
            self.store(token, op.value, token)
        return "stale"

    def _kept(self, op: Op, token: int) -> Outcome | str:
        kind, rng = self.kind, self.rng
        if kind == "phantom accept" and rng.random() < 0.4:
            return Outcome.OK
        logged: int | None = token
        if kind == "tokenless path" and rng.random() < 0.4:
            logged = None
        if kind == "logs another token" and rng.random() < 0.4:
            logged = rng.choice([1, 2, 3, 4])
        self.store(token, op.value, logged)
        is_ghost = kind == "ghost" and rng.random() < 0.3
        return rng.choice(["stale", "broken"]) if is_ghost else Outcome.OK

    def read(self, op: Op) -> tuple[str | None, int | None]:
        now = (self.value, self.token)
        if self.kind == "lagging replica" and self.rng.random() < 0.5:
            return self.rng.choice(self.states[-3:])
        if self.kind == "cached reads" and op.process in self.seen and self.rng.random() < 0.6:
            return self.seen[op.process]
        self.seen[op.process] = now
        return now

    def fence(self, op: Op) -> Outcome | str:
        token = op.token or 0
        if self.kind == "fence ignored":
            if self.rng.random() < 0.5:
                return Outcome.OK
        elif self.kind == "fence lowers":
            self.mark = token
            self.log.append((token, None, True))
            return Outcome.OK
        if token < self.mark:
            return "stale"
        self.mark = token
        self.log.append((token, None, True))
        return Outcome.OK

    def save(self) -> None:
        self.saved = (self.value, self.token, self.mark, len(self.log))

    def restart(self) -> None:
        """Forget what came after it was saved; the log with it."""
        if self.saved is None:
            return
        value, token, mark, size = self.saved
        self.value, self.token, self.mark = value, token, mark  # type: ignore[assignment]
        self.log = self.log[: int(size)]  # type: ignore[call-overload]
        self.states.append((self.value, self.token))


RIGHT = ("right", "right with fences")

BROKEN = (
    "no fence",
    "check then write",
    "equality fence",
    "duplicate",
    "retried through the fence",
    "lost on restart",
    "phantom accept",
    "ghost",
    "lagging replica",
    "cached reads",
    "high-water reset",
    "fence ignored",
    "fence lowers",
    "tokenless path",
    "log reordered",
    "log lacks entries",
    "log repeats entries",
    "logs another token",
    "string comparison",
    "late infos pass",
    "rejects wrongly",
    "stray writers",
    "cut history",
    "wrong reads",
    "another run's log",
)

KINDS = (*RIGHT, *BROKEN)

_FENCED = {
    "right with fences",
    "fence ignored",
    "fence lowers",
    "stray writers",
    "rejects wrongly",
    "log reordered",
}
_TWICE = {"duplicate", "retried through the fence", "check then write"}


@dataclass(frozen=True)
class Run:
    """A simulated run: what is judged, and what an oracle needs to know."""

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
    restart = rng.choice([3.5, 5.5, 7.5]) if kind == "lost on restart" else None
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
        if kind in _FENCED and f == "write" and rng.random() < 0.35:
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
        if kind in _TWICE and f == "write" and moments and rng.random() < 0.5:
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
            (rng.uniform(0, 9), rng.random(), _stray(rng, storage, number))
            for number in range(rng.randint(1, 2))
        ]
    if restart is not None:
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


def _stray(rng: random.Random, storage: Storage, number: int) -> Callable[[], None]:
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
