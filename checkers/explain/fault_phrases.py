"""Words for what a fault did."""

from __future__ import annotations

from checkers.history.faults import Fault
from checkers.vocabulary.fault_kinds import part_of_run

_SEEN_OVER = {"failover": "the failover was seen to be over"}
_AT_ONCE = {"kill": "was killed", "restart": "was restarted", "failover": "failed over"}


def restarted(fault: Fault) -> str:
    """Say what a restart of any kind did."""
    return f"{part_of_run(fault.target)} {_AT_ONCE[fault.kind]}"


def seen_over(fault: Fault) -> str:
    """Say that a restart was over; only the time when this was seen is known."""
    return _SEEN_OVER.get(fault.kind, "it was seen up again")


def is_restart(fault: Fault) -> bool:
    """Did a service go down and come up again? It may have answered before that was seen."""
    return fault.client is None and fault.kind in _AT_ONCE and not fault.left_behind


def clients_left(fault: Fault) -> str:
    """Name the clients that still reached the old primary after a failover; empty if none did."""
    if not fault.left_behind:
        return ""
    clients = " and ".join(map(str, fault.left_behind))
    one = len(fault.left_behind) == 1
    return (
        f"; {'client' if one else 'clients'} {clients} still reached the old primary, all others the new one"
    )
