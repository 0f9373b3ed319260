"""Storages: correct ones, and one for each kind of bug."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from checkers.history.records import Op, Outcome

RESOURCE = "r0"
NEVER = 1 << 40


@dataclass
class Request:
    """A client's request, and the moments at which it takes effect (usually one)."""

    op: Op
    moments: list[float]


@dataclass
class Storage:
    """A correct storage: one mark, one value, one log."""

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
        elif self.kind == "rejects wrongly" and self.rng.random() < 0.4:
            return "stale"
        if token < self.mark:
            return "stale"
        self.mark = token
        self.log.append((token, None, True))
        return Outcome.OK

    def save(self) -> None:
        self.saved = (self.value, self.token, self.mark, len(self.log))

    def restart(self) -> None:
        """Forget everything since the last save, including the log entries."""
        if self.saved is None:
            return
        value, token, mark, size = self.saved
        self.value, self.token, self.mark = value, token, mark  # type: ignore[assignment]
        self.log = self.log[: int(size)]  # type: ignore[call-overload]
        self.states.append((self.value, self.token))


RIGHT = ("right", "right with fences")

BROKEN = (
    *("no fence", "check then write", "equality fence", "duplicate", "retried through the fence"),
    *("lost on restart", "phantom accept", "ghost", "lagging replica", "cached reads", "high-water reset"),
    *("fence ignored", "fence lowers", "tokenless path"),
    *("log reordered", "log lacks entries", "log repeats entries", "logs another token"),
    *("string comparison", "late infos pass", "rejects wrongly", "stray writers"),
    *("cut history", "wrong reads", "another run's log"),
)

KINDS = (*RIGHT, *BROKEN)

FENCED = {"right with fences", "fence ignored", "fence lowers"}
FENCED |= {"stray writers", "rejects wrongly", "log reordered"}
KILLED = {"right with fences", "rejects wrongly", "lost on restart"}
"""Kinds that are killed in some runs; only the last of them forgets anything."""
TWICE = {"duplicate", "retried through the fence", "check then write"}
