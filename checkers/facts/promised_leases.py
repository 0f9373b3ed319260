"""The leases of one resource, searched for another owner's lease that was promised longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from checkers.facts.high_water import HighWater
from checkers.facts.leases import Lease
from checkers.history.columns import ABSENT, NEVER
from checkers.history.ranges import AboveOfOthers


class PromisedLeases:
    """Finds, for a lease, the earlier one of another owner on its resource that was promised longest."""

    def __init__(self, held: Sequence[Lease]) -> None:
        self._longest_first = sorted(held, key=lambda lease: -lease.end)
        self._after = HighWater((lease.returned, lease.end, lease) for lease in held)
        tokens = ((lease, lease.grant.token) for lease in held)
        self._above = HighWater((token, lease.end, lease) for lease, token in tokens if token is not None)

    def sent_before(self, later: Lease) -> Lease | None:
        """Return the longest lease of a grant that had returned before the later one was sent."""
        longest = _if_promised(self._after.before(later.grant.sent), later)
        if longest is None or longest.grant.owner != later.grant.owner:
            return longest
        return self._of_another(later, self._by_time, (-later.grant.sent,))

    def below(self, later: Lease) -> Lease | None:
        """Return the longest lease with a lower token, which came first if tokens can be trusted."""
        token = later.grant.token
        longest = None if token is None else _if_promised(self._above.before(token), later)
        if token is None or longest is None or longest.grant.owner != later.grant.owner:
            return longest
        return self._of_another(later, self._by_token, (-token,))

    def in_no_order(self, later: Lease, *, are_trusted: bool) -> Lease | None:
        """Return the longest lease of a grant that returned first, if neither surely came second.

        No lease that was sent before the later one, or is below it, was still promised.
        """
        if are_trusted and not self._is_any_without_token:
            return None
        place = self._place[later.grant.index]
        if _if_promised(self._by_return.before(place), later) is None:
            return None
        token = self._token_or_place[later.grant.index]
        sides = [(side, side * token) for side in (1, -1)]
        if are_trusted and later.grant.token is not None:
            sides = [(-1, 0)]  # only leases without a token
        limits = (-later.end, -place)
        found = [self._of_another(later, self._by_flight[side], (limit, *limits)) for side, limit in sides]
        return next(filter(None, found), None)

    def _of_another(self, later: Lease, leases: AboveOfOthers, limits: Sequence[float]) -> Lease | None:
        """Return the longest lease above these limits of another owner."""
        place = leases.first(later.grant.owner, limits)
        longest = None if place is None else self._longest_first[place]
        return None if longest is None else _if_promised((longest.end, longest), later)

    @cached_property
    def _is_any_without_token(self) -> bool:
        return any(lease.grant.token is None for lease in self._longest_first)

    @cached_property
    def _place(self) -> dict[int, int]:
        """The place of each grant in the order in which they returned."""
        by_return = sorted(self._longest_first, key=lambda lease: (lease.returned, lease.grant.index))
        return {lease.grant.index: place for place, lease in enumerate(by_return)}

    @cached_property
    def _by_return(self) -> HighWater[Lease]:
        return HighWater((self._place[lease.grant.index], lease.end, lease) for lease in self._longest_first)

    @cached_property
    def _token_or_place(self) -> dict[int, int]:
        """The token of each grant; without one, a distinct number below all tokens."""
        return {
            lease.grant.index: -1 - place if lease.grant.token is None else lease.grant.token
            for place, lease in enumerate(self._longest_first)
        }

    @cached_property
    def _by_time(self) -> AboveOfOthers:
        return self._indexed(self._returned)

    @cached_property
    def _by_token(self) -> AboveOfOthers:
        """Leases without a token are above no limit."""
        grants = [lease.grant for lease in self._longest_first]
        tokens = [ABSENT if grant.token is None else -grant.token for grant in grants]
        return self._indexed(tokens)

    @cached_property
    def _by_flight(self) -> Mapping[int, AboveOfOthers]:
        """Indexes for higher tokens (1) and for lower ones (-1)."""
        tokens = [self._token_or_place[lease.grant.index] for lease in self._longest_first]
        places = [-self._place[lease.grant.index] for lease in self._longest_first]
        return {
            side: self._indexed([side * token for token in tokens], self._returned, places)
            for side in (1, -1)
        }

    @cached_property
    def _returned(self) -> list[int]:
        """When the grants returned, negated, so that an earlier one is above a later one."""
        return [-int(min(lease.returned, NEVER)) for lease in self._longest_first]

    def _indexed(self, *columns: Sequence[int]) -> AboveOfOthers:
        owners = [lease.grant.owner for lease in self._longest_first]
        return AboveOfOthers(owners, *map(np.array, columns))


def _if_promised(found: tuple[float, Lease] | None, later: Lease) -> Lease | None:
    """Return the lease that ends then, if that is after the later grant returned."""
    return found[1] if found is not None and later.returned < found[0] else None
