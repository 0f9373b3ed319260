"""Moments at which a fault begins, read from what the clients publish: `when` of a fault.

A stop point is a step of one client, which stops itself there. A moment is a state of a lock, so faults
on servers can wait for one, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from harness.clients.shared_state import SharedState
from harness.core.duration import NS, format_duration
from harness.nemesis.contradictions import AnyFault, LockSection, OtherSections, SettingConflict, hits_servers
from workloads.locks.renewals import PER_TTL

Moment = Literal["lease-ending", "second-waiter"]
"""What is true of a held lock when a fault begins."""
When = Annotated[
    Moment | None,
    Field(
        description="From the drawn moment on, it waits for this: lease-ending, a holder's lease ends in"
        " under 200 ms;\nsecond-waiter, two clients wait for a lock that another holds."
    ),
]

ENDING = 200 * NS["ms"]
WAITERS = 2


def holders(state: SharedState, moment: Moment | None) -> Iterator[tuple[int, int]]:
    """Yield (client, resource) of each holder of whose lock the moment is true now; None: of all holders."""
    for client, resource, _ in state.holders():
        if moment == "lease-ending":  # an end that is not known is 0, so it is over
            fits = 0 < state.clients[client].lease_end - time.monotonic_ns() < ENDING
        elif moment == "second-waiter":
            fits = state.waiting_for(resource) >= WAITERS
        else:
            fits = True
        if fits:
            yield client, resource


def never_comes(index: int, fault: AnyFault, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield a moment that this target never has."""
    key = ("faults", index, "when")
    if fault.when and fault.at:
        yield SettingConflict(key, "cannot be combined with at: a stop point is itself a moment")
    elif fault.when == "second-waiter" and sections.workload and sections.workload.clients <= WAITERS:
        yield SettingConflict(
            key, f"never happens with {sections.workload.clients} clients: one holds the lock, and two wait"
        )
    elif fault.when == "lease-ending" and sections.lock:
        yield from _always_renewed(index, fault, sections, sections.lock)


def _always_renewed(
    index: int, fault: AnyFault, sections: OtherSections, lock: LockSection
) -> Iterator[SettingConflict]:
    """Yield leases that are renewed long before they end; a user's own client may renew as it likes.

    A client that one fault has reserved gets no second one, so for a fault on a client, only one on
    servers can keep renewals from arriving.
    """
    if not lock.servers or ":" in lock.kind or sections.wrong or lock.ttl - lock.ttl // PER_TTL < ENDING:
        return
    others = sections.others(index)
    if not any(_stops_renewals(other, fault, lock) for other in others):
        yield SettingConflict(
            ("faults", index, "when"),
            f"never happens: a lease of {format_duration(lock.ttl)} is renewed {PER_TTL} times; add another "
            "fault that keeps renewals from the lock service, such as a pause of lock (a client is under "
            "one fault at a time)",
        )


def _stops_renewals(other: AnyFault, fault: AnyFault, lock: LockSection) -> bool:
    """May another fault keep the renewals of this fault's victim from the lock service?"""
    if not hits_servers(other):
        return hits_servers(fault)
    return not {"lock", *lock.servers}.isdisjoint(other.aim())
