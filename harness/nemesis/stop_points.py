"""Stop points, where a client stops itself so that a fault hits it exactly there; and the fault's end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from checkers.vocabulary.hazards import End
from harness.nemesis.contradictions import AnyFault, OtherSections, SettingConflict
from harness.nemesis.fields import raise_all

StopPoint = Literal[
    "granted", "acquired", "list-read", "before-write", "write-sent", "renewing", "before-release"
]
"""What a client does next, or has just done."""

Until = Literal["expired", "regranted", "contested", "superseded", "freed"]
"""What ends a fault: the lease, or what another client does."""

ENDS: Mapping[str, End] = {
    "expired": End.EXPIRED,
    "regranted": End.REGRANTED,
    "contested": End.REGRANTED,
    "superseded": End.SUPERSEDED,
    "freed": End.SUPERSEDED,
}
"""What a fault that lasts until something ends in."""


class TimedFault(AnyFault, Protocol):
    """A fault that begins at a stop point or at seeded moments."""

    @property
    def called(self) -> str:
        """Its name in reports."""

    @property
    def until(self) -> Until | None:
        """What ends it."""


def aim_of(fault: TimedFault) -> End:
    """Return what is to become of the hold by the end of a fault."""
    return End.BEFORE_EXPIRY if fault.until is None else ENDS[fault.until]


def check_times(fault: TimedFault) -> None:
    """Raise ValueError unless a fault begins in one way, and ends in one way."""
    wrong = []
    if (fault.at is None) == (fault.every is None):
        wrong.append(f"a {fault.called} starts either at a stop point or in each interval: give at, or every")
    if fault.every and fault.until:
        wrong.append(f"a {fault.called} from outside (every) has a fixed duration: give lasts, not until")
    elif (fault.until is None) == (fault.lasts is None):
        wrong.append(f'a {fault.called} needs one end: give until = "superseded", or lasts')
    raise_all(wrong)


def check_aimed_servers(fault: TimedFault) -> None:
    """Raise ValueError unless a fault on servers has an end, and a limit if it begins at a stop point."""
    wrong = []
    if fault.lasts is None:
        wrong.append(f"a {fault.called} of servers ends after a while: give lasts")
    if fault.until:
        wrong.append(f"a {fault.called} of servers has a fixed duration: give lasts, not until")
    if fault.at and not fault.every:
        wrong.append(f"a {fault.called} of servers at a stop point happens once in each interval: give every")
    raise_all(wrong)


def never_reached(index: int, fault: TimedFault, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield stop points and ends that these locks and workloads never have."""
    lock = sections.lock if fault.at == "granted" else None
    if lock and lock.complete_at_once and "lock" not in sections.program_sides:  # a program may have it
        yield SettingConflict(
            ("faults", index, "at"),
            f"never happens with {lock.complete_at_once}: the answer that grants is complete, token "
            'included; give "acquired" instead',
        )
    if not sections.storage or not sections.workload or sections.workload.kind == "append":
        return
    for key, setting, given in (("at", "list-read", fault.at), ("until", "contested", fault.until)):
        if given == setting:
            yield SettingConflict(
                ("faults", index, key), 'occurs only in the workload "append": no other reads a list'
            )
