"""What no section can see alone: settings that do not go together.

Each check gets only sections that are right in themselves, and those that are
not are None: so a file's contradictions are told together with its other errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.duration import format_duration
from harness.nemesis import contradictions as of_faults
from harness.nemesis.contradictions import Contradiction
from harness.nemesis.faults import FAULTS
from harness.target.fields import PROGRAM
from harness.target.locks import EtcdLock, EtcdService
from harness.target.sections import Sections
from harness.target.storages import EtcdStorage

TTLS_OF_A_RUN = 3  # the nemesis requests no stop in the last 1.5 TTL

NEEDS = {count: kind for kind, fault in FAULTS.items() for count in fault.counts}
"""The kind of fault without which a count stays at 0."""


def contradictions(sections: Sections) -> Iterator[Contradiction]:
    """Yield every pair of settings that do not go together."""
    yield from _program(sections)
    yield from _passwords(sections)
    yield from _duration(sections)
    yield from _writes(sections)
    yield from _fence_on_acquire(sections)
    yield from _lock_key(sections)
    yield from _think(sections)
    yield from _names(sections)
    yield from _minima(sections)
    for index, fault in sections.faults.items():
        yield from of_faults.contradictions(index, fault, sections)


def _program(sections: Sections) -> Iterator[Contradiction]:
    for side, spec in (("lock", sections.lock), ("storage", sections.storage)):
        if spec and spec.kind == PROGRAM and not sections.has_client:
            yield Contradiction((side, "kind"), "needs the program: write [client] with its command")
        if spec and ":" in spec.kind and sections.has_client:
            yield Contradiction(
                (side, "kind"),
                'is a class, and the program of [client] calls none; "client" is what it uses by itself',
            )


def _passwords(sections: Sections) -> Iterator[Contradiction]:
    for side, spec in (("lock", sections.lock), ("storage", sections.storage)):
        named = [key for key in ("password_env", "password_file") if getattr(spec, key, None)]
        if len(named) > 1:
            yield Contradiction((side, named[1]), "and password_env name two passwords: give one of them")
        elif named and getattr(spec, "server", None):
            yield Contradiction(
                (side, named[0]),
                f"is for servers that run already; the {spec and spec.system} that Fencepost starts gets a"
                " password of its own, which the class finds in settings.password",
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
