"""The values of one resource as `losses` looks at them: made of zones, or of columns."""

from __future__ import annotations

import math

import numpy as np

from checkers.columns import ABSENT, NEVER
from checkers.losses import Values
from checkers.zone_columns import ZoneColumns
from checkers.zones import Register, Zone


def of_register(register: Register) -> Values:
    """Moments are in ns."""
    zones = register.all_zones
    place_of = {read.index: place for place, zone in enumerate(zones) for read in zone.reads}
    return Values(
        settled=np.array([_moment(zone.settled) for zone in zones]),
        claimed=np.array([_moment(zone.claimed) for zone in zones]),
        called=np.array([_called(zone) for zone in zones]),
        token=np.array([zone.token for zone in zones]),
        was_read=np.array([bool(zone.reads) for zone in zones]),
        zone=zones.__getitem__,
        place_of=lambda read: place_of[read.index],
        moments=lambda op: (op.called, NEVER if op.returned is None else op.returned),
    )


def of_columns(zones: ZoneColumns, resource: int) -> Values:
    """Moments are ranks; tokens are those of the columns."""
    places = np.flatnonzero(zones.resource == resource)
    rows = zones.write[places[1:] - zones.initials]  # the first is the initial value's
    reads, of = zones.all_reads
    was_read = np.zeros(len(zones.resource), dtype=np.bool_)
    was_read[of] = True
    return Values(
        settled=zones.settled[places],
        claimed=zones.claimed[places],
        called=np.append(zones.ranks.start[resource], zones.ranks.called[rows]),
        token=np.append(zones.header.initial_token, zones.columns.token[rows]),
        was_read=was_read[places],
        zone=lambda place: zones.zone(int(places[place])),
        place_of=lambda read: int(np.searchsorted(places, of[np.flatnonzero(reads == read.index)[0]])),
        moments=lambda op: (int(zones.ranks.called[op.index]), int(zones.ranks.returned[op.index])),
    )


def _called(zone: Zone) -> int:
    return ABSENT if zone.write is None else zone.write.called


def _moment(time: float) -> int:
    return int(time) if math.isfinite(time) else NEVER if time > 0 else ABSENT
