"""Early grants: was the lock given away while somebody's lease was still promised?

A grant to B is early iff it returned before the end of A's lease (see `leases`) and was
certainly the later of the two: it was sent after A's grant had returned, or its token is
above A's. Tokens decide that only where they can be trusted: on a resource where a token
regressed or was given to two owners, real time alone counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from checkers.columnar.hold_columns import narrowed, of_promised_leases
from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.grants import duplicate_tokens, token_regressions
from checkers.highwater import HighWater
from checkers.leases import Lease, leases


def early_grants(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another's lease was still promised."""
    untrusted = _with_misleading_tokens(evidence)
    for granted in leases(narrowed(evidence, of_promised_leases)):
        after = HighWater((lease.returned, lease.end, lease) for lease in granted)
        above = HighWater((lease.grant.token or 0, lease.end, lease) for lease in granted)
        for later in granted:
            found = [_longest(granted, later, after.before(later.grant.sent), _sent_after)]
            if later.grant.resource not in untrusted:
                highest = above.before(later.grant.token or 0)
                found.append(_longest(granted, later, highest, _token_above))
            holders = [lease for lease in found if lease and later.returned < lease.end]
            if holders:
                yield _early(later, max(holders, key=lambda lease: lease.end))


def _with_misleading_tokens(evidence: Evidence) -> set[str]:
    """The resources whose tokens do not tell the order of their grants."""
    return {each.accused.resource for each in (*duplicate_tokens(evidence), *token_regressions(evidence))}


def _longest(
    granted: Sequence[Lease],
    later: Lease,
    found: tuple[float, Lease] | None,
    is_later: Callable[[Lease, Lease], bool],
) -> Lease | None:
    """The earlier lease of another owner that was promised longest."""
    if found is None or found[0] <= later.returned:
        return None
    if found[1].grant.owner != later.grant.owner and is_later(later, found[1]):
        return found[1]
    others = [each for each in granted if each.grant.owner != later.grant.owner and is_later(later, each)]
    return max(others, key=lambda lease: lease.end, default=None)


def _sent_after(later: Lease, earlier: Lease) -> bool:
    return later.grant.sent > earlier.returned


def _token_above(later: Lease, earlier: Lease) -> bool:
    """Do the tokens say so, and real time not the opposite, as in a token-regression?"""
    is_above = (later.grant.token or 0) > (earlier.grant.token or 0)
    return is_above and later.returned >= earlier.grant.sent


def _early(later: Lease, holder: Lease) -> Conflict:
    because = [holder.grant]
    if holder.set_by is not None and holder.set_by is not holder.grant:
        because.append(holder.set_by)
    return Conflict(
        anomaly="early-grant",
        rule=Rule.LEASE_STILL_PROMISED,
        accused=later.grant,
        because=tuple(because),
    )
