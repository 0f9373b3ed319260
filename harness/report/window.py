"""The fault that opened the window for a finding, as far as the history supports one.

It is *certain* only if the history shows the whole chain: the fault hit the holder of
the write that came too late, and another client was granted the lock while it was in force.
Any other fault that fits is *probable*: it hit the accused servers, or a client involved,
at that time. A fault that hit only the victim, or that had ended before, explains nothing,
and no fault explains a storage that is wrong by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from checkers.facts.leases import ENDS
from checkers.history.faults import Fault, is_client
from checkers.history.reader import Header, Op
from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.document import FindingDocument

_TOO_LATE = frozenset({"stale-write", "late-write", "lost-update", "stale write rejected"})
_OF_HOLDERS = _TOO_LATE | {"ghost-write", "duplicate-write"}
_BY_ITSELF = frozenset({"unfenced-write", "false-rejection", "stale write rejected"})
RESTARTS = frozenset({"kill", "restart", "failover"})
_LOSSES = frozenset({"lost-write", "phantom-accept"})

GrantOf = Callable[[Op], Op | None]
"""Finds the grant under which an operation was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What went wrong, and the operations that show it."""

    anomaly: str
    proof: tuple[Op, ...]
    accused: tuple[Op, ...]
    against: tuple[Op, ...]
    named: tuple[Op, ...] = ()  # other operations that the steps name
    rule: str = ""  # that was broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A fault that explains a claim."""

    fault: Fault
    certain: bool  # False: it fits, but the history does not show the whole chain


def claimed(finding: FindingDocument, on_lines: Callable[[Iterable[int]], Sequence[Op]]) -> Claim:
    """A finding of verdict.json with its operations; one of an older release does not say which is wrong."""
    proof, accused, against = (
        tuple(on_lines(lines)) for lines in (finding.operations, finding.accused, finding.against)
    )
    if not accused and not against:
        accused = tuple(sorted(proof, key=lambda op: (op.token is None, op.token or 0, -op.called))[:1])
        against = tuple(op for op in proof if op not in accused)
    return Claim(anomaly=finding.anomaly, proof=proof, accused=accused, against=against, rule=finding.rule)


def opening(
    claim: Claim,
    grant_behind: GrantOf,
    faults: Sequence[Fault],
    header: Header,
) -> Cause | None:
    """Find the fault that the history supports as the cause; `grant_behind` finds that of a write."""

    def grant_of(op: Op) -> Op | None:
        return op if op.f == "acquire" else grant_behind(op)

    held = _of_holder(claim, grant_of, faults, header)
    served = [_of_servers(side, claim, grant_of, faults) for side in _sides(claim.anomaly)]
    groups = [held, *served] if claim.anomaly in _OF_HOLDERS else [*served, held]
    if header.fenced:  # a fence should survive any pause of a holder: a restart may be why it did not
        groups.insert(0, _restarts(claim, faults))
    sent = max((op.sent for op in claim.accused if op.f != "acquire"), default=math.inf)
    return next((_likeliest(group, sent) for group in groups if group), None)


def _likeliest(causes: Sequence[Cause], sent: float) -> Cause:
    """Certain faults first; if several were in force during the operation, the first one.

    An acquire may wait for long, and lose its lease several times: there it is the last one.
    """
    best = [cause for cause in causes if cause.certain] or causes
    return next((cause for cause in best if cause.fault.began > sent), best[-1])


def _of_holder(claim: Claim, grant_of: GrantOf, faults: Sequence[Fault], header: Header) -> list[Cause]:
    """Faults that hit the clients of the wrong operation, or of those that made it possible."""
    suspects = [(op, grant_of(op)) for op in _suspects(claim)]
    return [
        Cause(fault=fault, certain=_is_certain(claim, grant_of, fault))
        for fault in faults
        if any(_hit(fault, op, grant, header) for op, grant in suspects)
    ]


def _suspects(claim: Claim) -> Iterator[Op]:
    """The operations whose client's delay could explain the claim; never the victim's."""
    if claim.anomaly == "lost-update":  # the one that wrote without the element, or the one that was late
        yield from claim.accused
        yield from claim.against
    elif claim.anomaly in _OF_HOLDERS:
        yield from claim.accused
    elif claim.anomaly in {"duplicate-token", "token-regression"}:
        yield from claim.accused
        yield from claim.against
    elif claim.anomaly == "early-grant":
        victims = {op.owner for op in claim.against}
        yield from (op for op in claim.named if op.f in ENDS and op.owner not in victims)
        yield from (op for op in claim.accused if _is_later_by_token_alone(op, claim.against))
    elif claim.anomaly == "stuck-lock":
        yield from claim.against[:1]


def _is_later_by_token_alone(grant: Op, against: Iterable[Op]) -> bool:
    """Can it have been granted first, with a token that was drawn later?"""
    return any(op.f == "acquire" and grant.sent <= (op.returned or 0) for op in against)


def _hit(fault: Fault, op: Op, grant: Op | None, header: Header) -> bool:
    """Was the client of an operation delayed between its grant and the operation's end?"""
    begun = op.called if grant is None else min(grant.sent, op.called)
    ended = math.inf if op.learned is None and op.returned is None else max(op.learned or 0, op.returned or 0)
    if not fault.overlaps(begun, ended):
        return False
    if fault.owner is not None and fault.kind != "partition":  # which cuts off whatever the client holds
        return fault.owner == (op.owner if grant is None else grant.owner)
    return fault.client is not None and is_client(op.process, fault.client, header)


def _is_certain(claim: Claim, grant_of: GrantOf, fault: Fault) -> bool:
    """Was the lock granted to the client whose write came first while this fault was in force?"""
    newer = [grant_of(op) for op in claim.against]
    return claim.anomaly in _TOO_LATE and any(
        grant is not None
        and grant.owner != fault.owner
        and grant.returned is not None
        and fault.overlaps(grant.returned, grant.returned)
        for grant in newer
    )


def _of_servers(side: str, claim: Claim, grant_of: GrantOf, faults: Sequence[Fault]) -> list[Cause]:
    """Faults of the accused servers, from the first operation of the claim to the last."""
    if claim.anomaly in _BY_ITSELF:
        return []
    grants = (grant_of(op) for op in claim.proof)
    first = min((op.sent for op in (*claim.proof, *(g for g in grants if g is not None))), default=0)
    last = max((math.inf if op.returned is None else op.returned for op in claim.proof), default=0)
    after = math.inf if claim.anomaly in _LOSSES else last
    return [
        Cause(fault=fault, certain=False)
        for fault in faults
        if fault.target.partition(":")[0] == side and fault.overlaps(first, after)
    ]


def _restarts(claim: Claim, faults: Sequence[Fault]) -> list[Cause]:
    """Restarts and failovers of a storage between the newer write and the late one."""
    if claim.anomaly != "stale-write":
        return []
    newer = max((op.called for op in claim.against), default=0)
    late = max((math.inf if op.returned is None else op.returned for op in claim.accused), default=0)
    return [
        Cause(fault=fault, certain=False)
        for fault in faults
        if fault.kind in RESTARTS and fault.target.startswith("storage") and newer <= fault.began <= late
    ]


def _sides(anomaly: str) -> tuple[str, ...]:
    """The sides whose servers can be at fault: for a stale write, the lock was given away too."""
    area = ANOMALIES[anomaly].area if anomaly in ANOMALIES else "both"
    return ("storage", "lock") if area == "both" or anomaly in _TOO_LATE else (area,)
