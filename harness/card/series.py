"""The runs behind a card: each asks one question of a lock; Fencepost's own client does the storage side."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from checkers.text.printable import shorten
from harness.core.duration import NS, format_duration, parse_duration
from harness.core.errors import ConfigurationError
from harness.spec import Target
from harness.spec.reading import load_text

Kind = Literal["calm", "pause", "partition", "late-renewal", "stop", "restart", "failover"]
STOP_POINTS = ("granted", "acquired", "before-write", "write-sent", "before-release")
EVERY = "all"
"""In place of a stop point: a walk through every dangerous moment."""

STALE = ("acquired", "before-write")
"""The stop points at which a holder has everything for its write, and sends it afterwards."""

FREE = {
    "expired": ("workload.clients=2", "workload.resources=32", "workload.think=200ms"),
    "freed": ("workload.clients=2", "workload.resources=8"),
}
"""The ends of a pause after which a holder finds its lost lock free, and what that needs: the other client
has seldom come by, or has come and gone."""

OF_LOCKS = ("duplicate-token", "token-regression", "early-grant", "stuck-lock")
"""The anomalies of a lock service."""

MAY_COME_WITH_IT = ("stale-read", *OF_LOCKS)

LONG_HOLDS = ("workload.think=4s", "lock.ttl=8s")
"""A lock that a server forgets is missed only by a client that holds it until the server is back."""

LONGER = 4
"""A restart or a failover takes seconds, a walk has many pauses: such a run lasts so many times as long."""

LEAST_OF_LONGER = 24 * NS["s"]
"""ns; a run with faults lasts at least three TTLs."""

OF_LOCK_SERVERS = ("partition", "late-renewal", "restart", "failover")
"""The kinds of runs with faults on the lock's servers, or on the way to them."""

WITH_FAILOVER = {"redis": ("lock.replica=true",)}
"""The lock services whose primary can fail over to a replica, and what that needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One run of the series."""

    kind: Kind
    at: str = ""  # the stop point of a pause, or EVERY
    until: str = ""  # its end, if that leaves the lock free
    fenced: bool = False
    faults: tuple[str, ...] = ()  # TOML tables
    expect: Literal["valid", "stale-write"] = "valid"
    require: Mapping[str, int] = field(default_factory=dict)
    settings: tuple[str, ...] = ()  # overrides of its own
    durations: int = 1  # how many times as long as the subject says
    question: str = ""  # the key of one; the run is repeated until that is answered

    @property
    def name(self) -> str:
        """Such as pause-before-write-unfenced."""
        fence = ("fenced" if self.fenced else "unfenced") if self.kind == "pause" else ""
        end = self.until if self.until in FREE else ""
        return "-".join(filter(None, [self.kind, self.at, end, fence]))

    @property
    def makes_stale_writes(self) -> bool:
        """Does it pause holders until another client has written, where nothing refuses their writes?"""
        return self.at in STALE and self.until not in FREE and not self.fenced


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The lock under test, and the storage that fences its tokens."""

    name: str
    command: str
    lock: str  # kind
    storage: str  # kind
    fencing: str
    duration: str  # of a run, as in a target file
    gives_token: bool = True
    overrides: tuple[str, ...] = ()


def series(lock: str, *, gives_token: bool = True) -> Iterator[Experiment]:
    """The experiments with a lock service of this kind; without tokens, those without a fence.

    A question about the lock is about one moment, and a run of its own plays that. A fence has to hold at
    every moment.
    """
    grants = {"stale_writes_attempted": 0, "grants": 2}
    yield Experiment(kind="calm", require=grants)
    for fenced in (False, True) if gives_token else (False,):
        for at in STOP_POINTS:
            yield Experiment(
                kind="pause",
                at=at,
                fenced=fenced,
                faults=(_fault("pause", at=at, until="superseded"),) * 2,
                expect="stale-write" if at in STALE and not fenced else "valid",
                require={"pauses": 1, "stale_writes_attempted": int(at in STALE)},
            )
    if gives_token:
        yield Experiment(
            kind="pause",
            at=EVERY,
            fenced=True,
            faults=(_fault("pause", hazards="all"),),
            require={"pauses": 1, "stale_writes_attempted": 1},
            durations=LONGER,
        )
    for until, settings in FREE.items():
        yield Experiment(
            kind="pause",
            at="before-write",
            until=until,
            faults=(_fault("pause", at="before-write", until=until),),
            expect="stale-write" if until == "freed" else "valid",
            require={"pauses": 1, "stale_writes_attempted": 0},
            settings=settings,
        )
    cut = _fault("partition", **{"from": "lock"}, every="2 ttl", lasts="1.5 ttl")
    yield Experiment(kind="partition", faults=(cut,), require=grants | {"partitions": 1})
    held = _fault("delay", to="lock", every="2 ttl", lasts="1.5 ttl")
    yield Experiment(
        kind="late-renewal",
        faults=(held,),
        require=grants | {"delays": 1},
        settings=("workload.timeout=10s",),
    )
    stopped = _fault("stop", at="before-write", every="4s")
    yield Experiment(
        kind="stop",
        faults=(stopped,),
        require=grants | {"stops": 1},
        settings=("workload.resources=1",),  # the next holder is of the same lock
        durations=LONGER,
        question="hands_over_in_order",
    )
    killed = _fault("kill", target="lock", at="acquired", every="10s", lasts="200ms")
    yield Experiment(
        kind="restart",
        faults=(killed,),
        require=grants | {"kills": 1},
        settings=(*LONG_HOLDS, "workload.resources=1"),  # the next holder is of the same lock
        durations=LONGER,
        question="survives_restart",
    )
    if replica := WITH_FAILOVER.get(lock):
        lost = _fault("failover", target="lock", held="1 ttl")
        yield Experiment(
            kind="failover",
            faults=(lost,),
            require=grants | {"failovers": 1},
            settings=(*LONG_HOLDS, *replica),
            durations=LONGER,
            question="survives_failover",
        )


def target_of(subject: Subject, experiment: Experiment) -> Target:
    """Return the target of one run; ConfigurationError names what is wrong."""
    try:
        words = shlex.split(subject.command)
    except ValueError as error:
        raise ConfigurationError(f"{shorten(subject.command)}: is not a command: {error}") from None
    name = f"{subject.name}-{experiment.name}"
    head = f'name = {json.dumps(name)}\nexpect = "valid"\n'
    options = {
        f"lock.kind={subject.lock}": f"--lock {subject.lock}",
        f"storage.kind={subject.storage}": f"--storage {subject.storage}",
        f"workload.duration={_duration(subject, experiment)}": f"--duration {subject.duration}",
    }
    if experiment.fenced:
        options[f"storage.fencing={subject.fencing}"] = f"--fencing {subject.fencing}"
    given = [
        f"client.command={json.dumps(words)}",
        "client.side=lock",
        "storage.fencing=none",
        *options,
        *(f"require.{count}={least}" for count, least in experiment.require.items()),
    ]
    if experiment.expect != "valid":
        given += [f"expect={json.dumps([experiment.expect])}", f"may={json.dumps(MAY_COME_WITH_IT)}"]
    if not subject.gives_token:
        given.append("lock.token=none")
    text = "\n".join([head, *experiment.faults])
    try:
        return load_text(text, name, [*given, *experiment.settings, *subject.overrides])
    except ConfigurationError as error:
        raise ConfigurationError(*(_by_option(line, options) for line in error.lines)) from None


def _by_option(line: str, options: Mapping[str, str]) -> str:
    """Name the option that the user gave, in place of the setting that it became."""
    for setting, option in options.items():
        place = f"--set {setting}: "
        if line.startswith(place):
            return f"{option}: {line.removeprefix(place)}"
    return line


def _duration(subject: Subject, experiment: Experiment) -> str:
    if experiment.durations == 1:
        return subject.duration
    return format_duration(max(LEAST_OF_LONGER, experiment.durations * parse_duration(subject.duration)))


def _fault(kind: str, target: str = "holder", **fields: str) -> str:
    lines: Sequence[str] = [
        f"{key} = {json.dumps(value)}" for key, value in {"kind": kind, "target": target, **fields}.items()
    ]
    return "\n".join(["[[faults]]", *lines, ""])
