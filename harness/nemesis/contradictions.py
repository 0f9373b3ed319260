"""Contradictions between a fault and the rest of its target file.

These checks apply to every fault: victims that do not exist, impossible durations. Each fault's
file adds its own.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from checkers.text.nearest import nearest
from harness.core.duration import Span, format_duration
from harness.core.suggestions import did_you_mean
from harness.nemesis.fields import WAITER, is_victim

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SettingConflict:
    """A setting that contradicts another."""

    key: Key
    problem: str


class ServiceSection(Protocol):
    """A section [lock] or [storage], as far as faults need it."""

    @property
    def kind(self) -> str:
        """Return such as "etcd"."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of its servers."""

    @property
    def system(self) -> str:
        """The system of its servers."""

    @property
    def image(self) -> str | None:
        """The official image of its servers, if they do not run ours."""


class LockSection(ServiceSection, Protocol):
    """The section [lock]."""

    @property
    def ttl(self) -> int:
        """How long a lease lasts, ns."""

    @property
    def complete_at_once(self) -> str | None:
        """The setting with which one answer grants and carries the token; None if a step may lie between."""


class StorageSection(ServiceSection, Protocol):
    """The section [storage]."""

    @property
    def fencing(self) -> str:
        """The way it fences."""

    @property
    def fence_on_acquire(self) -> bool:
        """Does a new holder fence its token before anything else?"""

    @property
    def writes_in_one_message(self) -> bool:
        """Does a write take one message, so that no stopped client can hold a transaction open?"""


class WorkloadSection(Protocol):
    """The section [workload]."""

    @property
    def kind(self) -> str:
        """Return "register", "append" or "run"."""

    @property
    def is_of_jobs(self) -> bool:
        """Do the clients execute jobs?"""

    @property
    def clients(self) -> int:
        """How many there are."""

    @property
    def resources(self) -> int:
        """How many there are."""

    @property
    def duration(self) -> int:
        """How long the clients work, ns."""


class Trait(enum.Flag):
    """What a kind of fault declares that others ask of it."""

    HITS_WAITERS = enum.auto()  # also on a client that waits for the lock of a holder
    FREEZES = enum.auto()  # what it hits does nothing while it is in force
    KILLS = enum.auto()  # servers lose what they have in memory, and a client does not go on
    NEEDS_HOLDER = enum.auto()  # on servers, it tests nothing unless a client holds a lock meanwhile
    NEEDS_PROTOCOL = enum.auto()  # only requests that the servers understand prove it
    SUITS_MANAGER = enum.auto()  # possible on servers that Patroni manages
    LASTS_A_GRACE = enum.auto()  # the key of its length is grace
    BY_USER = enum.auto()  # commands of the user inject it, on servers that Fencepost did not start, too


class NamedFault(Protocol):
    """A fault by what it is called in windows."""

    @property
    def kind(self) -> str:
        """Return such as "kill"."""

    @property
    def target(self) -> str:
        """The client, side or server that it hits."""

    @property
    def at(self) -> str | None:
        """The stop point."""


class AnyFault(NamedFault, Protocol):
    """A section [[faults]]."""

    @property
    def traits(self) -> Trait:
        """What is special about its kind."""

    def aim(self) -> tuple[str, ...]:
        """Return the sides or servers that the file names."""

    @property
    def when(self) -> str | None:
        """The moment of a lock that it waits for."""

    @property
    def lasts(self) -> Span | None:
        """How long it is in force."""

    @property
    def every(self) -> Span | None:
        """It strikes once in each interval of this length."""

    @property
    def neutral(self) -> Mapping[str, object]:
        """Settings that contradict nothing."""

    @property
    def unserved(self) -> str:
        """The error if no server is started for a section (`{}`)."""

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield the contradictions of this kind of fault."""


class OtherSections(Protocol):
    """The rest of the target file; an invalid section is None."""

    @property
    def lock(self) -> LockSection | None:
        """The lock service."""

    @property
    def storage(self) -> StorageSection | None:
        """The storage."""

    @property
    def program_sides(self) -> frozenset[str]:
        """The sides, "lock" and "storage", that the program of [client] does."""

    @property
    def workload(self) -> WorkloadSection | None:
        """What the clients do."""

    @property
    def faults(self) -> Mapping[int, AnyFault]:
        """The valid faults, by number."""

    @property
    def wrong(self) -> frozenset[int]:
        """The numbers of the faults with errors."""

    def others(self, index: int) -> Iterator[AnyFault]:
        """Yield all faults without errors, but one."""


def contradictions(index: int, fault: AnyFault, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield the contradictions of one fault."""
    yield from missing_victim(("faults", index, "target"), fault.target, sections)
    yield from _servers(index, fault, sections)
    yield from fault.contradictions(index, sections)
    yield from _of_jobs(index, fault, sections)
    yield from _lengths(index, fault, sections)


def hits_servers(fault: AnyFault) -> bool:
    """Does a fault hit servers, not a client?"""
    hits_waiter = fault.target == WAITER and Trait.HITS_WAITERS in fault.traits
    return not is_victim(fault.target) and not hits_waiter


def aimed_by(fault: AnyFault) -> str:
    """Return the key that names the servers: those that are hit, or from which or to which a client is."""
    keys = () if hits_servers(fault) else ("to", "from")
    return next((key for key in keys if key in fault.neutral), "target")


def sides(sections: OtherSections) -> Mapping[str, LockSection | StorageSection | None]:
    """Return [lock] and [storage] by their names."""
    return {"lock": sections.lock, "storage": sections.storage}


def ns(span: Span | None, lock: LockSection | None) -> int | None:
    """Resolve a duration; None without one, or if it counts in the TTL of an invalid lock."""
    if span is None or (span.ttls and lock is None):
        return None
    return span.resolve(lock.ttl if lock else 0)


def missing_victim(key: Key, target: str, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield a client, or the holder of a resource, that the workload does not have."""
    kind, _, number = target.replace(":r", ":").partition(":")
    if not (sections.workload and number.isdecimal()):
        return
    what, count = (
        ("clients", sections.workload.clients)
        if kind == "client"
        else ("resources", sections.workload.resources)
    )
    if int(number) >= count:
        name = "client:" if kind == "client" else "holder:r"
        yield SettingConflict(
            key, f"does not exist: workload.{what} is {count}, so the last is {name}{count - 1}"
        )


def _servers(index: int, fault: AnyFault, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield servers that are not started: they can be neither hit nor cut off."""
    key = ("faults", index, aimed_by(fault))
    known = [name for side in sides(sections).values() if side for name in side.servers]
    for named in fault.aim():
        if named in sides(sections):
            side = sides(sections)[named]
            if side and not side.servers:
                yield SettingConflict(key, _unserved(fault, named, side, sections))
        elif named not in known:
            words = [*sides(sections), str(fault.neutral[aimed_by(fault)])]
            if None not in sides(sections).values():
                suggestion = did_you_mean(named, dict.fromkeys([*known, *words]))
                yield SettingConflict(key, f"this target has no server {named}{suggestion}")
            elif near := nearest(named, words):
                yield SettingConflict(key, f"no server is called {named}; did you mean {near}?")


def _unserved(fault: AnyFault, name: str, side: ServiceSection, sections: OtherSections) -> str:
    if name == "storage" and sections.storage and sections.storage.fencing == "lock-key":
        return 'has no servers of its own with storage.fencing "lock-key": "lock" hits both'
    section = f'{name}.kind "{side.kind}"'
    return f"{fault.unserved.format(section)}: no server is started for it"


def _of_jobs(index: int, fault: AnyFault, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield what needs recorded locks, where clients execute jobs: a worker's lock is a part of its take."""
    if not (sections.workload and sections.workload.is_of_jobs):
        return
    needs = {
        "at": fault.at in ("renewing", *(("granted",) if "queue" in sections.program_sides else ())),
        "when": fault.when is not None,
        "hazards": getattr(fault, "hazards", None) is not None,
        "target": fault.target.startswith("holder:"),
    }
    for key in (key for key, needed in needs.items() if needed):
        yield SettingConflict(
            ("faults", index, key),
            'needs a lock that is recorded, which the workload "run" has not: a fault of a "holder" hits the '
            'worker that comes to a stop point first, such as "before-write"',
        )


def _lengths(index: int, fault: AnyFault, sections: OtherSections) -> Iterator[SettingConflict]:
    lasts, every = ns(fault.lasts, sections.lock), ns(fault.every, sections.lock)
    length = "grace" if Trait.LASTS_A_GRACE in fault.traits else "lasts"
    if sections.workload and lasts and lasts >= sections.workload.duration:
        yield SettingConflict(
            ("faults", index, length),
            "must be shorter than the run: workload.duration is "
            f"{format_duration(sections.workload.duration)}",
        )
    if lasts and every and lasts >= every:
        yield SettingConflict(
            ("faults", index, length),
            f"must be shorter than every: {format_duration(lasts)} is not less than {format_duration(every)}",
        )
    if sections.workload and every and every > sections.workload.duration:
        yield SettingConflict(
            ("faults", index, "every"),
            f"is longer than the run: workload.duration is {format_duration(sections.workload.duration)}",
        )
