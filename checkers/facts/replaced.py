"""Values that came back: each is written once, so a value that another replaced is gone for good."""

from __future__ import annotations

import numpy as np

from checkers.facts.cluster_columns import ZoneColumns
from checkers.history.columns import Flags, Ints, indices
from checkers.history.ranges import NOWHERE, first_at_most


def replaced_by(zones: ZoneColumns, places: Ints, called: Ints, among: Ints) -> Ints:
    """Return, for each zone, which of some others was there after it and before a moment.

    This is the one settled first, or NOWHERE. Algorithm R: two values contradict each other
    if each must have been there before the last operation of the other was called.
    """
    found = _first_lasting(zones, places, among, by=zones.settled)
    return np.where((found != NOWHERE) & (zones.settled[found] < called), found, NOWHERE)


def not_written_late(zones: ZoneColumns, places: Ints, odd: Flags) -> Ints:
    """Return, for each zone read after a newer value had been there, a zone that shows it did not come last.

    This is a value that replaced it, or one that was there after it and that the fence would have
    refused after the newer value. NOWHERE: all reads of its value are right if the fence let only this
    write pass late.
    """
    until = zones.claimed[places]
    everything = np.arange(len(zones.level))
    by = replaced_by(zones, places, until, everything)
    lower = _first_lasting(zones, places, indices(~odd[: zones.bare]), by=zones.level)
    is_refused = (lower != NOWHERE) & (zones.level[lower] < zones.mark.before(until))
    return np.where(by != NOWHERE, by, np.where(is_refused, lower, NOWHERE))


def _first_lasting(zones: ZoneColumns, places: Ints, among: Ints, *, by: Ints) -> Ints:
    """Return, for each zone, the lowest of some others of its register that were there after it."""
    among = among[np.lexsort((by[among], zones.resource[among]))]
    lasted, past = -zones.claimed[among], -zones.settled[places] - 1
    place = np.append(among, NOWHERE)
    start = np.searchsorted(zones.resource[among], zones.resource[places])
    found = first_at_most(lasted, start, past)
    found = np.where(place[found] == places, first_at_most(lasted, found + 1, past), found)
    other = place[np.minimum(found, len(among))]
    is_of_it = (other != NOWHERE) & (zones.resource[other] == zones.resource[places])
    return np.where(is_of_it, other, NOWHERE)
