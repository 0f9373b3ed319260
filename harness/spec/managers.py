"""Contradictions of programs that decide themselves which server leads: Patroni and Sentinel."""

from __future__ import annotations

from collections.abc import Iterator

from harness.nemesis import patroni_failover, sentinel_failover
from harness.nemesis.contradictions import SettingConflict, Trait, hits_servers
from harness.spec import attached
from harness.spec.models import Sections


def contradictions(sections: Sections) -> Iterator[SettingConflict]:
    """Yield every contradiction."""
    yield from _patroni(sections)
    yield from _sentinel(sections)


def _patroni(sections: Sections) -> Iterator[SettingConflict]:
    """Yield a lock without an etcd for Patroni, and faults on servers that only Patroni would answer."""
    if not patroni_failover.is_managed(sections):
        return
    lock = sections.lock
    if lock and (not lock.is_key_in_etcd or attached.running_at(lock)):
        yield SettingConflict(
            ("storage", "manager"),
            'keeps its state in the etcd of the lock, which Fencepost must start: set lock.kind "etcd" or '
            '"etcd-lock", without lock.servers',
        )
    for index, fault in sections.faults.items():
        if hits_servers(fault) and Trait.SUITS_MANAGER not in fault.traits:
            yield SettingConflict(
                ("faults", index, "kind"),
                'on servers cannot be combined with storage.manager "patroni", which may then change the '
                "primary at any time: the only such fault is a failover of the storage",
            )


def _sentinel(sections: Sections) -> Iterator[SettingConflict]:
    """Yield a lock of a program under Sentinel, and faults on servers that only Sentinel would answer."""
    lock = sections.lock
    if lock is None or not sentinel_failover.is_managed(sections):
        return
    if "lock" in sections.program_sides:
        yield SettingConflict(
            ("lock", "manager"),
            "is for Fencepost's own lock: sentinels name servers by addresses inside Docker's network, which "
            "the program of [client] does not reach; remove the key",
        )
    for index, fault in sections.faults.items():
        aimed = {"lock", *lock.servers} & set(fault.aim())
        if aimed and hits_servers(fault) and Trait.SUITS_MANAGER not in fault.traits:
            yield SettingConflict(
                ("faults", index, "kind"),
                'on servers cannot be combined with lock.manager "sentinel", which may then change the '
                "primary at any time: the only such fault is a failover of the lock, whose old_primary is "
                '"killed", "paused" or "cut-off"',
            )
