"""What no section can see alone: settings that do not go together.

Each check gets only sections that are right in themselves, and those that are
not are None: so a file's contradictions are told together with its other errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.duration import Span, format_duration
from harness.target.aims import aim
from harness.target.faults import FaultSpec, PartitionSpec, PauseSpec
from harness.target.fields import PROGRAM
from harness.target.locks import EtcdLock, EtcdService, LockSpec
from harness.target.models import WorkloadSpec
from harness.target.names import did_you_mean
from harness.target.storages import EtcdStorage, StorageSpec
from harness.target.toml import Key

TTLS_OF_A_RUN = 3  # the nemesis sets no snare in the last 1.5 TTL

NEEDS = {
    "pauses": "pause",
    "pauses_past_lease": "pause",
    "grants_to_others": "pause",
    "partitions": "partition",
    "kills": "kill",
}
"""The kind of fault without which a count stays at 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of one file; None, or absent, where one is wrong in itself."""

    lock: LockSpec | None = None
    storage: StorageSpec | None = None
    has_client: bool = False  # there is a section [client], right or wrong
    workload: WorkloadSpec | None = None
    expected: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    faults: dict[int, FaultSpec] = field(default_factory=dict)
    holds: bool = False  # expect is "valid"
    kinds: frozenset[str] | None = frozenset()  # of all faults, the wrong ones too; None: not known
    require: Mapping[str, int] = field(default_factory=dict)  # as the file has it, without the default


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One setting that does not fit another."""

    key: Key
    problem: str


def contradictions(sections: Sections) -> Iterator[Contradiction]:
    """Yield every pair of settings that do not go together."""
    yield from _program(sections)
    yield from _duration(sections)
    yield from _writes(sections)
    yield from _fence_on_acquire(sections)
    yield from _lock_key(sections)
    yield from _think(sections)
    yield from _names(sections)
    yield from _minima(sections)
    for index, fault in sections.faults.items():
        yield from _victim(index, fault, sections)
        yield from _stop_point(index, fault, sections)
        yield from _servers(index, fault, sections)
        yield from _lengths(index, fault, sections)


def _program(sections: Sections) -> Iterator[Contradiction]:
    for side, spec in (("lock", sections.lock), ("storage", sections.storage)):
        if spec and spec.kind == PROGRAM and not sections.has_client:
            yield Contradiction((side, "kind"), "needs the program: write [client] with its command")
        if spec and ":" in spec.kind and sections.has_client:
            yield Contradiction(
                (side, "kind"),
                'is a class, and the program of [client] calls none; "client" is what it uses by itself',
            )


def _duration(sections: Sections) -> Iterator[Contradiction]:
    lock, workload = sections.lock, sections.workload
    if lock and workload and sections.faults and workload.duration < TTLS_OF_A_RUN * lock.ttl:
        yield Contradiction(
            ("workload", "duration"),
            f"is too short for faults: lock.ttl is {format_duration(lock.ttl)}, "
            f"and a run needs at least {TTLS_OF_A_RUN} of them",
        )


def _writes(sections: Sections) -> Iterator[Contradiction]:
    storage, workload = sections.storage, sections.workload
    if storage and workload and storage.policy == "strict" and (workload.writes or 1) > 1:
        yield Contradiction(
            ("workload", "writes"),
            'must be 1: storage.policy "strict" accepts one write a token ("inclusive" accepts more)',
        )


def _fence_on_acquire(sections: Sections) -> Iterator[Contradiction]:
    storage = sections.storage
    if storage is None or not storage.fence_on_acquire:
        return
    if storage.policy == "strict":
        yield Contradiction(
            ("storage", "fence_on_acquire"),
            'needs storage.policy "inclusive": under "strict" the holder\'s own write would be stale',
        )
    if storage.fencing == "none":
        yield Contradiction(
            ("storage", "fence_on_acquire"), 'raises a mark that storage.fencing "none" never looks at'
        )


def _lock_key(sections: Sections) -> Iterator[Contradiction]:
    """What goes with a storage in the lock's own etcd, which looks at the lock's key alone."""
    lock, storage = sections.lock, sections.storage
    if not (isinstance(storage, EtcdStorage) and storage.is_in_the_lock):
        return
    if lock and not isinstance(lock, EtcdLock | EtcdService):
        yield Contradiction(
            ("storage", "fencing"),
            f'looks at a key in the etcd of the lock, and lock.kind is "{lock.kind}": '
            'it must be "etcd" or "etcd-lock"',
        )
    elif lock and lock.token != "create-revision":  # noqa: S105 - no password
        yield Contradiction(
            ("storage", "fencing"), 'compares create_revisions: lock.token must be "create-revision"'
        )
    if storage.policy == "strict":
        yield Contradiction(
            ("storage", "policy") if "policy" in storage.model_fields_set else ("storage", "fencing"),
            'needs storage.policy "inclusive": while its lock is there, a holder may write more than once',
        )
    if storage.fence_on_acquire:
        yield Contradiction(
            ("storage", "fence_on_acquire"),
            'raises a mark that storage.fencing "lock-key" never looks at, and needs not: '
            "it refuses the older holder's write from the moment that its lock is gone",
        )
    if storage.image:
        yield Contradiction(
            ("storage", "image"),
            'is of a server of its own, and with storage.fencing "lock-key" there is none: set lock.image',
        )


def _think(sections: Sections) -> Iterator[Contradiction]:
    workload = sections.workload
    if workload and "think" in workload.model_fields_set and workload.think > workload.duration:
        yield Contradiction(
            ("workload", "think"),
            f"is longer than the run: workload.duration is {format_duration(workload.duration)}",
        )


def _names(sections: Sections) -> Iterator[Contradiction]:
    both = [name for name in sections.may if name in sections.expected]
    if both:
        yield Contradiction(("may",), f"{', '.join(both)} must be found already, says expect")
    if sections.may and sections.holds:
        yield Contradiction(
            ("may",),
            'names what may come with expected anomalies, and expect is "valid": '
            "write expect = [...] with what must be found, or leave may out",
        )


def _minima(sections: Sections) -> Iterator[Contradiction]:
    """A count that nothing in the target can bring about; the default minimum is not among them."""
    for name, least in sections.require.items():
        if least and (why_never := _never(name, sections)):
            yield Contradiction(("require", name), f"cannot come about: {why_never}")


def _never(name: str, sections: Sections) -> str | None:
    if (kind := NEEDS.get(name)) and sections.kinds is not None and kind not in sections.kinds:
        return f"no [[faults]] of this target is a {kind}" if kind != "kill" else "no fault kills"
    if name == "stale_writes_rejected" and sections.storage and sections.storage.fencing == "none":
        return 'storage.fencing "none" rejects nothing'
    if name == "stale_writes_accepted" and sections.holds:
        return 'a stale write that is accepted breaks expect = "valid"'
    return None


def _victim(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    kind, _, number = fault.target.replace(":r", ":").partition(":")
    if not (sections.workload and number):
        return
    what, count = (
        ("clients", sections.workload.clients)
        if kind == "client"
        else ("resources", sections.workload.resources)
    )
    if int(number) >= count:
        name = "client:" if kind == "client" else "holder:r"
        yield Contradiction(
            ("faults", index, "target"),
            f"does not exist: workload.{what} is {count}, so the last is {name}{count - 1}",
        )


def _stop_point(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    """A client stopped between UPDATE and COMMIT holds the row's lock: nobody can supersede it."""
    if not (isinstance(fault, PauseSpec) and sections.storage):
        return
    if sections.workload and sections.workload.kind != "append":
        for key, setting in (("at", "list-read"), ("until", "contested")):
            if getattr(fault, key) == setting:
                yield Contradiction(
                    ("faults", index, key), 'comes about in the workload "append" only: no other reads a list'
                )
    if fault.at == "write-sent" and fault.until and not sections.storage.writes_in_one_message:
        yield Contradiction(
            ("faults", index, "until"),
            f'cannot come about at "write-sent" with storage.fencing "{sections.storage.fencing}": '
            "the stopped client's open transaction locks out everybody else; give lasts instead",
        )


def _servers(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    """Only what is started can be hit, and a proxy stands before that alone."""
    key = ("faults", index, "from" if isinstance(fault, PartitionSpec) else "target")
    sides = {"lock": sections.lock, "storage": sections.storage}
    known = [name for spec in sides.values() if spec for name in spec.servers]
    for named in aim(fault):
        if named in sides:
            spec = sides[named]
            if spec and not spec.servers:
                yield Contradiction(key, _unserved(fault, named, spec))
        elif None not in sides.values() and named not in known:
            yield Contradiction(key, f"this target has no server {named}{did_you_mean(named, known)}")


def _unserved(fault: FaultSpec, side: str, spec: LockSpec | StorageSpec) -> str:
    if isinstance(spec, EtcdStorage):
        return 'has no servers of its own with storage.fencing "lock-key": "lock" hits both'
    if isinstance(fault, PartitionSpec):
        return f'nobody can be cut off from {side}.kind "{spec.kind}": no server is started for it'
    return f'nothing of {side}.kind "{spec.kind}" can be hit: no server is started for it'


def _lengths(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    lasts, every = _ns(fault.lasts, sections.lock), _ns(fault.every, sections.lock)
    if sections.workload and lasts and lasts >= sections.workload.duration:
        yield Contradiction(
            ("faults", index, "lasts"),
            "must be shorter than the run: workload.duration is "
            f"{format_duration(sections.workload.duration)}",
        )
    if lasts and every and lasts >= every:
        yield Contradiction(
            ("faults", index, "lasts"),
            f"must be shorter than every: {format_duration(lasts)} is not within {format_duration(every)}",
        )
    if sections.workload and every and every > sections.workload.duration:
        yield Contradiction(
            ("faults", index, "every"),
            f"is longer than the run: workload.duration is {format_duration(sections.workload.duration)}",
        )


def _ns(span: Span | None, lock: LockSpec | None) -> int | None:
    """Resolve a length; None where there is none, or where it counts in the TTL of a lock that is wrong."""
    if span is None or (span.ttls and lock is None):
        return None
    return span.resolve(lock.ttl if lock else 0)
