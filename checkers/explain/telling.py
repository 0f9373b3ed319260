"""The sentences that short stories share: who took the lock, what delayed the holder, who came between."""

from __future__ import annotations

import math

from checkers.explain.fault_phrases import is_restart, restarted
from checkers.explain.fault_steps import hit_by
from checkers.explain.narrator import Narrator
from checkers.explain.phrases import capitalized, lock_on
from checkers.explain.story import Cause
from checkers.history.faults import Fault
from checkers.history.records import Op


def took(n: Narrator, grant: Op) -> str:
    """Say who was granted a lock; a sentence."""
    return f"{n.who(grant)} took {lock_on(grant.resource)}{n.with_token(grant)}."


def were_granted(n: Narrator, one: Op, other: Op) -> str:
    """Say who was granted a lock in two grants, as the beginning of a sentence."""
    if n.whom(one) == n.whom(other):
        return f"{n.whom(one)} was granted {lock_on(one.resource)} twice"
    return f"{n.whom(one)} and {n.whom(other)} were both granted {lock_on(one.resource)}"


def was_held_up(n: Narrator, cause: Cause | None, grant: Op, whom: str = "It") -> str:
    """Say what delayed the holder of a lock, and when its lease ended; empty if nothing is known."""
    fault = None if cause is None else cause.fault
    lease = n.lease(grant)
    if fault is None:
        return "" if math.isinf(lease) else f"Its lease ended at {n.at(lease)}"
    if fault.client is None:
        whom = capitalized(hit_by(n, fault))
    said = f"{whom} {during(n, fault)}"
    if math.isfinite(lease) and fault.began <= lease <= fault.healed:
        return f"{said}, past the end of its lease at {n.at(lease)}"
    return said if math.isinf(lease) else f"{said}; its lease ended at {n.at(lease)}"


def during(n: Narrator, fault: Fault) -> str:
    """Say what a fault did, and from when to when."""
    if math.isinf(fault.healed):
        return f"{fault.words.lasting} from {n.at(fault.began)} on"
    return f"{fault.words.lasting} from {n.at(fault.began)} to {n.at(fault.healed)}"


def happened(n: Narrator, fault: Fault | None) -> str:
    """Say what a fault did; a sentence, or nothing."""
    if fault is None:
        return ""
    if is_restart(fault):
        return capitalized(f"{restarted(fault)} at {n.at(fault.began)}.")
    return capitalized(f"{hit_by(n, fault)} {during(n, fault)}.")


def in_time_order(n: Narrator, cause: Cause | None, *timed: tuple[float, str]) -> tuple[str, ...]:
    """Return a short story of timed sentences in order, with what the fault did that is the cause."""
    fault = None if cause is None else cause.fault
    known = [*([] if fault is None else [(fault.began, happened(n, fault))]), *timed]
    return tell(*(sentence for _, sentence in sorted(known, key=lambda each: each[0])))


def tell(*sentences: str) -> tuple[str, ...]:
    """Return a short story: its sentences without the empty ones."""
    return tuple(each for each in sentences if each)
