"""What a fault does not go together with: victims that are not there, ends that cannot come, other faults."""

from __future__ import annotations

from collections.abc import Iterator

from harness.duration import NS, Span, format_duration
from harness.target.aims import aim
from harness.target.faults import ClockSpec, FailoverSpec, FaultSpec, KillSpec, PartitionSpec, PauseSpec
from harness.target.locks import LockSpec, RedisLock
from harness.target.names import did_you_mean
from harness.target.sections import Contradiction, Sections
from harness.target.storages import EtcdStorage, StorageSpec

LONGEST_HELD = 50 * NS["s"]


def of_fault(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    """Yield what stands against the fault of this number."""
    yield from _victim(index, fault, sections)
    yield from _granted(index, fault, sections)
    yield from _stop_point(index, fault, sections)
    yield from _servers(index, fault, sections)
    yield from _failover(index, fault, sections)
    yield from _clock(index, fault, sections)
    yield from _lengths(index, fault, sections)


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


def _granted(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    """A program of the user's may take its lock in steps, whatever server that is on."""
    if not (isinstance(fault, PauseSpec) and fault.at == "granted" and sections.lock):
        return
    if (setting := sections.lock.complete_at_once) and not sections.has_client:
        yield Contradiction(
            ("faults", index, "at"),
            f"never happens with {setting}: the answer that grants is complete, token included; "
            'give "acquired" instead',
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


def _failover(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    if not isinstance(fault, FailoverSpec):
        return
    if sections.lock and not (isinstance(sections.lock, RedisLock) and sections.lock.replica):
        yield Contradiction(
            ("faults", index, "target"),
            'has no replica that could take over: it needs lock.kind "redis" with replica = true',
        )
    others = [other for number, other in sections.faults.items() if number != index]
    if any(isinstance(other, FailoverSpec) for other in others):
        yield Contradiction(("faults", index, "kind"), "stands twice: a failover happens once a run")
    locks = {"lock", *(sections.lock.servers if sections.lock else ())}
    if any(isinstance(other, KillSpec) and other.target in locks for other in others):
        yield Contradiction(("faults", index, "kind"), "does not go with a kill of the lock's servers")
    yield from _held(index, fault, sections)


def _clock(index: int, fault: FaultSpec, sections: Sections) -> Iterator[Contradiction]:
    """Only our own image of Redis has a clock that can be moved."""
    if not isinstance(fault, ClockSpec):
        return
    for side, spec in (("lock", sections.lock), ("storage", sections.storage)):
        if spec is None or not {side, *spec.servers} & {fault.target} or not spec.servers:
            continue
        key = ("faults", index, "target")
        if spec.system != "redis":
            yield Contradiction(
                key, f"only the clock of a Redis server can be moved, and this is {spec.system}"
            )
        elif spec.image:
            yield Contradiction(key, f"has no clock that can be moved: {side}.image is {spec.image}")


def _held(index: int, fault: FailoverSpec, sections: Sections) -> Iterator[Contradiction]:
    held, key = _ns(fault.held, sections.lock), ("faults", index, "held")
    if held and held > LONGEST_HELD:
        longest = format_duration(LONGEST_HELD)
        yield Contradiction(key, f"must be at most {longest}: Redis gives a silent link up after a minute")
    if held and sections.workload and held >= sections.workload.duration // 2:
        yield Contradiction(
            key,
            "must be shorter than half the run: workload.duration is "
            f"{format_duration(sections.workload.duration)}",
        )


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
