"""What a few programs do with one lock, step by step: questions that no run with a workload asks.

Each play takes a lock of its own, so that none disturbs the next.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.card.series import Experiment, Subject, target_of
from harness.card.words import Word
from harness.core.duration import NS
from harness.engines.engine import Engine
from harness.run.programs import Programs, programs_on_servers
from workloads.client import Unknown
from workloads.line_protocol.messages import AcquireResult, convert_fields
from workloads.line_protocol.played import Hung, PlayedAnswer, asked
from workloads.line_protocol.program_client import ProgramClient, ProgramError

SIDES = frozenset(("lock",))
LONGER = 2.5
"""How many leases a holder holds, and another client waits for."""
LEASES = 4
"""TTLs in which the lock of a stopped program is free, at the latest."""
SHORT = 0.3  # s; in which a lock that is free is granted, and in which a client has begun to wait
SENT = 0.1  # s; in which a request has reached a program, though it is stopped
ROUNDS = 8
LATE = 3  # releases of a lost lock
FIRST, SECOND, THIRD = 0, 1, 2
ONCE = "held-longer"
STOPPED = "the lock of a stopped holder"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayResult:
    """What a play says of one question."""

    play: str
    key: str  # of the question
    word: Word
    said: str
    versions: Mapping[str, str]  # of the libraries, as the program named them


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hold:
    """A lock that a program was granted."""

    lease: float  # s
    until: float  # s, of time.monotonic(); it is held as long, however late the program answered


class _NotPlayedError(Exception):
    """A play got no lock, or no answer, with which it could go on."""


def play(subject: Subject, engine: Engine, only: Sequence[str] = ()) -> Iterator[PlayResult]:
    """Play each, or those of `only`, with programs on servers of their own; yield the answers.

    What cannot be played is "not shown". Raises as an engine does, if the servers do not start.
    """
    target = target_of(subject, Experiment(kind="calm"))
    chosen = {name: (key, acted) for name, (key, acted) in PLAYS.items() if name in only or not only}
    if not chosen:
        return
    with (
        programs_on_servers(target, SIDES, engine, list(PLAYS)) as programs,
        ExitStack() as started,
    ):
        stage = _Stage(programs, started)
        for name, (key, acted) in chosen.items():
            try:
                stage.begin(FIRST, SECOND)
                word, said = acted(stage, name)
            except Hung as hung:
                word, said = "not shown", f"the program did not answer {hung.request}: {hung.why}"
                stage.leave()
            except (_NotPlayedError, ProgramError) as error:
                word, said = "not shown", str(error)
            yield PlayResult(play=name, key=key, word=word, said=said, versions=stage.versions)


class _Stage:
    """The programs, each started once."""

    def __init__(self, programs: Programs, started: ExitStack) -> None:
        self._programs = programs
        self._started = started
        self._known: dict[int, ProgramClient] = {}
        self._owners = itertools.count(1)
        self.paused = programs.paused
        self.versions: Mapping[str, str] = {}
        self.ttl = programs.target.lock.ttl / NS["s"]

    def program(self, client: int) -> ProgramClient:
        if client not in self._known:
            self._known[client] = self._started.enter_context(closing(self._programs.begin(client)))
            self.versions = self._known[client].versions
        return self._known[client]

    def begin(self, *clients: int) -> None:
        """Start those that have not started, which may take longer than a lease."""
        for client in clients:
            self.program(client)

    def leave(self) -> None:
        """Let the next play begin with programs of its own."""
        self._known.clear()

    def owner(self, client: int) -> str:
        return f"{client}-{next(self._owners)}"

    def asks(self, client: int, resource: str, owner: str, wait: float, **fields: bool) -> PlayedAnswer:
        """Acquire within so many seconds."""
        acquire = partial(self._asked, client, "acquire", wait + 1, resource=resource, owner=owner)
        answer = acquire(wait_ms=round(wait * 1000), **fields)
        if answer.word == "unknown":  # its session may have ended while it was stopped; it has a new one
            answer = acquire(wait_ms=round(wait * 1000), **fields)
        return answer

    def takes(
        self, client: int, resource: str, owner: str, lock: str = "a free lock", *, reenter: bool = False
    ) -> _Hold:
        """Acquire a lock that is free, or becomes it; without a promised length its lease is the TTL."""
        fields = {"reenter": True} if reenter else {}
        answer = self.asks(client, resource, owner, LEASES * self.ttl, **fields)
        if answer.word != "ok":
            raise _NotPlayedError(f"{lock} was not granted: {answer.shown}")
        try:
            grant = convert_fields(AcquireResult, answer.fields)
        except Unknown as error:
            raise _NotPlayedError(str(error)) from error
        lease = self.ttl if grant.ttl_ms is None else grant.ttl_ms / 1000
        until = time.monotonic() + lease / 2
        if grant.attempt_ns is not None:
            until = min(until, grant.attempt_ns / NS["s"] + lease)
        return _Hold(lease=lease, until=until)

    def releases(self, client: int, resource: str, owner: str) -> PlayedAnswer:
        return self._asked(client, "release", resource=resource, owner=owner)

    def _asked(self, client: int, op: str, within: float | None = None, **fields: Any) -> PlayedAnswer:
        """Send a request; as in a run, a program whose answer is unknown is asked to reconnect."""
        program = self.program(client)
        answer = asked(program, op, within=within, **fields)
        if answer.word == "unknown":
            program.reconnect("lock")
        return answer


Play = Callable[[_Stage, str], tuple[Word, str]]


def _held_longer(stage: _Stage, resource: str, *, reenter: bool = False) -> tuple[Word, str]:
    """Hold a lock for longer than its lease, while another client waits for it."""
    holder, other = stage.owner(FIRST), stage.owner(SECOND)
    asked_at = time.monotonic()
    hold = stage.takes(FIRST, resource, holder, reenter=reenter)
    granted, waits = time.monotonic(), LONGER * max(hold.lease, stage.ttl)
    answer = stage.asks(SECOND, resource, other, waits)
    after = time.monotonic()
    if answer.word == "ok":
        stage.releases(SECOND, resource, other)
        stage.releases(FIRST, resource, holder)
        return "no", f"another client was granted it after {after - asked_at:.1f} s, while it was held"
    if answer.word != "failed":
        return "not shown", f"the acquire of the other client: {answer.shown}"
    if (released := stage.releases(FIRST, resource, holder)).word != "ok":
        return "not shown", f"nobody else was granted it, but its release: {released.shown}"
    return "yes", f"nobody else was granted it in {after - granted:.1f} s"


def _held_longer_reentered(stage: _Stage, resource: str) -> tuple[Word, str]:
    """The same after its holder has taken it twice; a lock that is never renewed cannot lose its renewal."""
    if not stage.program(FIRST).knows_reenter:
        return "not shown", "the program does not know reenter"
    word, said = _held_longer(stage, resource, reenter=True)
    if word != "no":
        return word, said
    once, said_once = _held_longer(stage, ONCE)
    if once == "no":
        return "none", "a lock that is taken once is not renewed either"
    return (word, said) if once == "yes" else (once, said_once)


def _takes_alone(stage: _Stage, resource: str, owner: str) -> float:
    """Take a free lock that keeps another client out; return until when it is held (s)."""
    hold = stage.takes(FIRST, resource, owner)
    if _is_granted(stage, SECOND, resource, hold.until):
        raise _NotPlayedError("another client was granted the lock at once, while it was held")
    return hold.until


def _is_granted(stage: _Stage, client: int, resource: str, until: float = math.inf) -> bool:
    """Is a client granted a lock at once that another one, if it holds it, keeps until then (s)?"""
    owner = stage.owner(client)
    answer = stage.asks(client, resource, owner, min(SHORT, stage.ttl / 4))
    if answer.word == "failed":
        return False
    if answer.word != "ok":
        raise _NotPlayedError(f"the acquire of another client: {answer.shown}")
    is_late = time.monotonic() > until
    stage.releases(client, resource, owner)
    if is_late:
        raise _NotPlayedError("the lease ended before the release: this machine is too slow now")
    return True


def _foreign_release(stage: _Stage, resource: str) -> tuple[Word, str]:
    """Release the lock of another holder: as an owner that never had it, and as one that has lost it."""
    holder, stranger = stage.owner(FIRST), stage.owner(SECOND)
    until = _takes_alone(stage, resource, holder)
    released = stage.releases(SECOND, resource, stranger)
    if _is_granted(stage, SECOND, resource, until):
        return "no", "the release by an owner that never had it freed it"
    stage.releases(FIRST, resource, holder)
    if released.word == "ok":
        return "no", "the release by an owner that never had it ended ok, but did not free it"
    late = next(filter(None, (_late_release(stage, resource) for _ in range(LATE))), "")
    return ("no", late) if late else ("yes", "of an owner that never had it, and of one that had lost it")


def _late_release(stage: _Stage, resource: str) -> str:
    """Say what is wrong with the release of a lost lock that another client holds now; "" if nothing is."""
    loser, holder = stage.owner(FIRST), stage.owner(SECOND)
    stage.takes(FIRST, resource, loser)
    with ThreadPoolExecutor(1) as beside:
        with stage.paused(FIRST):
            hold = stage.takes(SECOND, resource, holder, STOPPED)
            # It waits there: a program that renews on time learns of its loss as soon as it continues.
            answered = beside.submit(stage.releases, FIRST, resource, loser)
            time.sleep(SENT)
        released = answered.result()
    if _is_granted(stage, FIRST, resource, hold.until):
        return "the late release of a lost lock freed it, while the next client held it"
    stage.releases(SECOND, resource, holder)
    return "the late release of a lost lock ended ok, but did not free it" if released.word == "ok" else ""


def _taken_again(stage: _Stage, resource: str) -> tuple[Word, str]:
    """Let a holder lose its lock, and another client leave it again: does the first one take it by itself?"""
    loser, other = stage.owner(FIRST), stage.owner(SECOND)
    _takes_alone(stage, resource, loser)
    with stage.paused(FIRST):
        stage.takes(SECOND, resource, other, STOPPED)
        released = stage.releases(SECOND, resource, other)
        if released.word != "ok":
            raise _NotPlayedError(f"the release of the next holder: {released.shown}")
    time.sleep(stage.ttl / 2)  # a program renews at least that often
    if _is_granted(stage, SECOND, resource):
        return "no", "it was still free for another client"
    stage.releases(FIRST, resource, loser)
    return "yes", "its old holder had it again, without an acquire"


def _queue(stage: _Stage, resource: str) -> tuple[Word, str]:
    """Let two clients wait for a lock, one after the other: which one is granted it?"""
    stage.begin(THIRD)
    in_order = sum(
        _is_first(stage, resource, *pair)
        for pair in itertools.islice(itertools.cycle([(SECOND, THIRD), (THIRD, SECOND)]), ROUNDS)
    )
    said = f"in {in_order} of {ROUNDS} rounds the first that waited was granted it first"
    return ("yes" if in_order == ROUNDS else "no"), said


def _is_first(stage: _Stage, resource: str, early: int, late: int) -> bool:
    holder = stage.owner(FIRST)
    stage.takes(FIRST, resource, holder)
    granted: list[int] = []
    failed: list[str] = []

    def waits(client: int) -> None:
        owner = stage.owner(client)
        try:
            answer = stage.asks(client, resource, owner, LEASES * stage.ttl)
        except Hung as hung:
            failed.append(hung.why)
            return
        if answer.word != "ok":
            failed.append(answer.shown)
            return
        granted.append(client)
        stage.releases(client, resource, owner)

    clients = [threading.Thread(target=waits, args=(client,)) for client in (early, late)]
    for each in clients:
        each.start()
        time.sleep(SHORT)
    was_free = bool(granted)
    stage.releases(FIRST, resource, holder)
    for each in clients:
        each.join()
    if was_free:
        raise _NotPlayedError("another client was granted the lock before it was released")
    if failed:
        raise _NotPlayedError(f"a client that waited was not granted it: {failed[0]}")
    return granted[0] == early


PLAYS: Mapping[str, tuple[str, Play]] = {
    ONCE: ("renewed_while_held", _held_longer),
    "held-longer-reentered": ("renewed_after_reentry", _held_longer_reentered),
    "foreign-release": ("refuses_foreign_release", _foreign_release),
    "taken-again": ("taken_again_silently", _taken_again),
    "queue": ("first_come_first_served", _queue),
}
"""The question that each answers; its name is also that of its lock."""
