"""Did a storage that is said to be fenced accept a write without a token?

Such a write takes no part in the order of tokens: it does not raise the mark, and no
mark can refuse it. Its value was there for whoever read it, that is all. A write that was
sent with a token, and that the commit log has without one, passed the fence by as well: but
it is a write of that token, and stale where it stands after a newer one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.conflict import Conflict, Rule
from checkers.history.columns import OK
from checkers.storage.cluster_columns import ZoneColumns
from checkers.storage.log_columns import LogColumns


def sent_without_a_token(zones: ZoneColumns) -> Iterator[Conflict]:
    """Writes without a token that took effect: by their ok, by a read, or by the commit log."""
    columns = zones.columns
    places = np.arange(zones.bare, len(zones.level))
    order = zones.recorded.order_of_resources[zones.resource[places]]
    for place in places[np.argsort(order, kind="stable")].tolist():
        row = int(zones.write[place - zones.initials])
        answered = columns.outcome[row] == OK or (zones.log is not None and zones.log.first_of_row[row] >= 0)
        yield Conflict(
            anomaly="unfenced-write",
            rule=Rule.PASSED_THE_FENCE_BY,
            accused=zones.ops[row],
            because=() if answered else tuple(zones.operations(zones.reads_of(place)[:1])),
        )


def stored_without_a_token(log: LogColumns) -> Iterator[Conflict]:
    """Their clients had a token, and some way to the storage leaves it out; or no client sent them."""
    strays = log.stray_positions
    for position in strays[log.lost_their_tokens[strays]].tolist():
        stray = log.entry(position)
        yield Conflict(
            anomaly="unfenced-write",
            rule=Rule.STORED_WITHOUT_A_TOKEN,
            accused=stray.accused,
            because=(stray.near,) if stray.near is not None else (),
        )
