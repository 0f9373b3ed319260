"""Contradictions between sections of a target file.

Each check gets only valid sections, and None for the others: so a file's contradictions are
reported together with its other errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.duration import format_duration
from harness.nemesis import contradictions as of_faults
from harness.nemesis.contradictions import SettingConflict, Trait, aimed_by
from harness.nemesis.faults import FAULTS, hits_client, hits_servers
from harness.nemesis.moments import never_comes
from harness.spec import attached, managers
from harness.spec.fields import HAZARDS, PROGRAM
from harness.spec.locks import LOCKS, LockSpec
from harness.spec.models import Sections
from harness.spec.storages import StorageSpec
from workloads.client import GIVES_NONE

NO_TOKEN = "none"  # noqa: S105 - no password
"""The value of lock.token for a lock that gives none."""

MOST_JOBS = 10_000  # in a run

TTLS_OF_A_RUN = 3  # the nemesis requests no stop in the last 1.5 TTLs

NEEDS = {
    count: [kind for kind, fault in FAULTS.items() if count in fault.counts]
    for each in FAULTS.values()
    for count in each.counts
}
"""The kinds of faults of which each count needs one."""


def contradictions(sections: Sections) -> Iterator[SettingConflict]:
    """Yield every contradiction."""
    for side, spec in (("lock", sections.lock), ("storage", sections.storage)):
        if spec:
            yield from _program(side, spec, sections)
            yield from _passwords(side, spec)
            yield from attached.contradictions(side, spec)
            yield from _attached(side, spec, sections)
            if spec.image and getattr(spec, "version", None):
                yield SettingConflict(
                    (side, "version"), f"cannot be combined with {side}.image: give only one"
                )
    yield from _workload(sections)
    yield from _jobs(sections)
    yield from _fence_on_acquire(sections)
    yield from _kills(sections)
    yield from _round_robin(sections)
    yield from _lock_key(sections)
    yield from managers.contradictions(sections)
    yield from _no_token(sections)
    yield from _names(sections)
    yield from _minima(sections)
    yield from _overlap(sections)
    for index, fault in sections.faults.items():
        yield from of_faults.contradictions(index, fault, sections)
        yield from never_comes(index, fault, sections)


def _overlap(sections: Sections) -> Iterator[SettingConflict]:
    """Yield kills of clients that no other fault on a client could follow: a killed client stays dead."""
    of_clients = [fault for fault in sections.faults.values() if hits_client(fault)]
    if (
        not sections.overlap
        and len(of_clients) > 1
        and any(Trait.KILLS in fault.traits for fault in of_clients)
    ):
        yield SettingConflict(
            ("overlap",),
            "leaves no time for the other faults on clients: a killed client stays dead until the end of "
            "the run; remove the key, or the kill",
        )


def _program(side: str, spec: LockSpec | StorageSpec, sections: Sections) -> Iterator[SettingConflict]:
    is_done = side in sections.program_sides
    if spec.kind == PROGRAM and not sections.program_sides:
        yield SettingConflict((side, "kind"), "needs a program: add [client] with its command")
    elif spec.kind == PROGRAM and not is_done:
        yield SettingConflict(
            (side, "kind"),
            f"needs a program, but client.side leaves the {side} to Fencepost: "
            'name another kind, or set client.side to "both"',
        )
    if spec.only_servers and not is_done:
        yield SettingConflict(
            (side, "kind"),
            f"needs a program: Fencepost has no lock of its own on {spec.kind}; "
            'add [client] with its command, and side = "lock" if it does no more',
        )
    if ":" in spec.kind and is_done:
        yield SettingConflict(
            (side, "kind"),
            'is a class, but the program of [client] cannot call one: use the kind "client", '
            "or set client.side to the other side",
        )


def _passwords(side: str, spec: LockSpec | StorageSpec) -> Iterator[SettingConflict]:
    named = [key for key in attached.PASSWORDS if getattr(spec, key, None)]
    if len(named) > 1:
        yield SettingConflict((side, named[1]), "cannot be combined with password_env: give only one")
    elif named and getattr(spec, "server", None):
        yield SettingConflict(
            (side, named[0]),
            "is for servers that are already running; Fencepost generates the password of the"
            f" {spec.system} that it starts and passes it in settings.password: remove the key",
        )


def _attached(side: str, spec: LockSpec | StorageSpec, sections: Sections) -> Iterator[SettingConflict]:
    """Yield faults on servers that already run, where only an engine could inject them."""
    for index, fault in sections.faults.items():
        if not attached.running_at(spec) or not {side, *spec.servers} & set(fault.aim()):
            continue
        key = ("faults", index, aimed_by(fault))
        if not spec.system and Trait.NEEDS_PROTOCOL in fault.traits:
            yield SettingConflict(
                key,
                f"names {side}.endpoints, whose protocol Fencepost does not know, so it could not "
                f"prove a {fault.called}: give a pause or a partition",
            )
        if hits_servers(fault) and Trait.BY_USER not in fault.traits:
            yield SettingConflict(
                key,
                f"names servers that Fencepost did not start, so it cannot inject a {fault.called}: "
                'give kind = "script", with commands of yours that inject, observe and heal a fault',
            )


def _workload(sections: Sections) -> Iterator[SettingConflict]:
    lock, storage, workload = sections.lock, sections.storage, sections.workload
    if not workload:
        return
    if lock and sections.faults and workload.duration < TTLS_OF_A_RUN * lock.ttl:
        needed = f"{format_duration(TTLS_OF_A_RUN * lock.ttl)}, {TTLS_OF_A_RUN} TTLs"
        if "duration" in workload.model_fields_set:
            yield SettingConflict(
                ("workload", "duration"),
                f"is too short for faults: lock.ttl is {format_duration(lock.ttl)},"
                f" and a run needs at least {needed}",
            )
        else:
            yield SettingConflict(
                ("lock", "ttl"),
                f"is too long for a run of {format_duration(workload.duration)}: with faults it needs at"
                f" least {needed}; give a shorter one, or a longer workload.duration",
            )
    if storage and storage.policy == "strict" and (workload.writes or 1) > 1:
        yield SettingConflict(
            ("workload", "writes"),
            'must be 1: storage.policy "strict" accepts one write per token ("inclusive" accepts more)',
        )
    if "think" in workload.model_fields_set and workload.think > workload.duration:
        yield SettingConflict(
            ("workload", "think"),
            f"is longer than the run: workload.duration is {format_duration(workload.duration)}",
        )


def _jobs(sections: Sections) -> Iterator[SettingConflict]:
    """Yield settings that jobs do not have, and those of jobs in another workload."""
    workload, storage = sections.workload, sections.storage
    if not workload:
        return
    given = workload.model_fields_set
    if not workload.is_of_jobs:
        if "queue" in sections.program_sides:
            yield SettingConflict(("client", "side"), 'executes jobs: set workload.kind "run"')
        if "every" in given:
            yield SettingConflict(("workload", "every"), 'is for jobs: set workload.kind "run"')
        return
    if workload.duration // workload.every * workload.resources > MOST_JOBS:
        yield SettingConflict(("workload", "every"), f"gives more than {MOST_JOBS:,} jobs: make it longer")
    elif workload.every > workload.duration:
        every, duration = format_duration(workload.every), format_duration(workload.duration)
        yield (
            SettingConflict(
                ("workload", "every"),
                f"gives no job in a run of {duration}: make it shorter, or workload.duration longer",
            )
            if "every" in given
            else SettingConflict(
                ("workload", "duration"),
                f"is too short for a job: make it longer than workload.every ({every})",
            )
        )
    if "writes" in given:
        yield SettingConflict(("workload", "writes"), "cannot be set: a job has one result")
    if storage and storage.fence_on_acquire:
        yield SettingConflict(
            ("storage", "fence_on_acquire"), "cannot be set: a worker reads before it has an attempt"
        )
    if storage and storage.is_in_the_lock:
        yield SettingConflict(
            ("storage", "fencing"), "compares the lock of the resource, and a job has no lock of its own"
        )


def _fence_on_acquire(sections: Sections) -> Iterator[SettingConflict]:
    storage = sections.storage
    if storage is None or not storage.fence_on_acquire:
        return
    if storage.policy == "strict":
        yield SettingConflict(
            ("storage", "fence_on_acquire"),
            'needs storage.policy "inclusive": under "strict" the holder\'s own write would be stale',
        )
    if storage.fencing == "none":
        yield SettingConflict(
            ("storage", "fence_on_acquire"), 'raises a mark that storage.fencing "none" ignores'
        )


def _kills(sections: Sections) -> Iterator[SettingConflict]:
    storage = sections.storage
    if storage is None or storage.order_survives_kill:
        return
    or_else = ", or set storage.version" if "version" in type(storage).model_fields else ""
    for index, fault in sections.faults.items():
        if Trait.KILLS in fault.traits and {"storage", *storage.servers} & set(fault.aim()):
            yield SettingConflict(
                ("faults", index, aimed_by(fault)),
                f"kills {storage.system}, which has the order of its writes only in memory: without it, the "
                f"run could not be judged; kill the lock or a client, pause the storage{or_else}",
            )


def _round_robin(sections: Sections) -> Iterator[SettingConflict]:
    lock, storage = sections.lock, sections.storage
    if not (storage and storage.changes_servers and lock):
        return
    if len(lock.servers if storage.is_in_the_lock else storage.servers) == 1:
        yield SettingConflict(
            ("storage", "round_robin"),
            'needs several members: set storage.fencing "lock-key" and lock.nodes, or storage.servers',
        )


def _lock_key(sections: Sections) -> Iterator[SettingConflict]:
    """Yield settings that contradict a storage in the lock's own etcd, which checks only the lock's key."""
    lock, storage = sections.lock, sections.storage
    if not (storage and storage.is_in_the_lock):
        return
    if lock and not lock.is_key_in_etcd:
        yield SettingConflict(
            ("storage", "fencing"),
            f'checks a key in the etcd of the lock, but lock.kind is "{lock.kind}": '
            'it must be "etcd" or "etcd-lock"',
        )
    elif lock and lock.token != "create-revision":  # noqa: S105 - no password
        yield SettingConflict(
            ("storage", "fencing"), 'compares create_revisions: lock.token must be "create-revision"'
        )
    if storage.policy == "strict":
        yield SettingConflict(
            ("storage", "policy") if "policy" in storage.model_fields_set else ("storage", "fencing"),
            'needs storage.policy "inclusive": while it has the lock, a holder may write more than once',
        )
    if storage.fence_on_acquire:
        yield SettingConflict(
            ("storage", "fence_on_acquire"),
            'raises a mark that storage.fencing "lock-key" ignores and does not need: '
            "it refuses the older holder's write as soon as its lock has ended",
        )
    for key in ("image", "version"):
        if getattr(storage, key):
            yield SettingConflict(
                ("storage", key),
                f'is for a server that storage.fencing "lock-key" does not start: set lock.{key}',
            )


def _no_token(sections: Sections) -> Iterator[SettingConflict]:
    """Yield a fence that needs a token where the lock gives none, and a shipped lock that gives one."""
    lock, storage = sections.lock, sections.storage
    if lock is None or lock.token != NO_TOKEN:
        return
    if lock.kind in LOCKS and lock.kind not in (PROGRAM, "http") and "lock" not in sections.program_sides:
        yield SettingConflict(
            ("lock", "token"),
            f'is for a lock of your own, but Fencepost\'s own "{lock.kind}" gives a token: remove the key',
        )
    elif storage and storage.fencing != "none":
        yield SettingConflict(("storage", "fencing"), f'cannot be used with lock.token "none": {GIVES_NONE}')


def _names(sections: Sections) -> Iterator[SettingConflict]:
    both = [name for name in sections.may if name in sections.expected]
    if both:
        yield SettingConflict(
            ("may",), f"{', '.join(both)} must be found according to expect: remove it here"
        )
    if sections.may and sections.holds:
        yield SettingConflict(
            ("may",),
            'allows anomalies in addition to expected ones, but expect is "valid": '
            "list expected anomalies in expect, or remove may",
        )


def _minima(sections: Sections) -> Iterator[SettingConflict]:
    """Yield required counts that cannot occur in this target; the default minimum is exempt."""
    for name, least in sections.require.items():
        if least and (why_never := _never(name, sections)):
            yield SettingConflict(("require", name), f"cannot occur: {why_never}")


def _never(name: str, sections: Sections) -> str | None:
    if (kinds := NEEDS.get(name)) and sections.kinds is not None and sections.kinds.isdisjoint(kinds):
        which = f"no [[faults]] of this target is a {' or '.join(kinds)}"
        return "no fault kills" if kinds == ["kill"] else which
    if name == HAZARDS and sections.kinds == frozenset():
        return "this target has no [[faults]]"
    if name == HAZARDS and sections.workload and sections.workload.is_of_jobs:
        return 'the workload "run" records no locks, whose moments they are'
    if name == "stale_writes_rejected" and sections.storage and sections.storage.fencing == "none":
        return 'storage.fencing "none" refuses nothing'
    if name == "stale_writes_accepted" and sections.holds:
        return 'a stale write that is accepted breaks expect = "valid"'
    return None
