"""The configurations before a return that no order explains, as a finding shows them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from checkers.models.model_verdict import DEAD_ENDS_SHOWN, Configuration, DeadEnd
from checkers.models.relevance import Open

Node = tuple[Hashable, int, int]
"""A configuration: state, bits of the open operations done, bits of the infos used."""


def dead_end(
    operation: int,
    nodes: Collection[Node],
    entries: Sequence[Open],
    read: Sequence[int],
    info_positions: Sequence[int],
) -> DeadEnd:
    """Return a few configurations, the simplest first.

    `entries` are the open operations, `read` the positions of reads done in all configurations,
    and `info_positions` the positions of the infos, by bit.
    """
    return DeadEnd(
        operation=operation,
        configurations=tuple(
            Configuration(
                state=state,
                ahead=tuple(sorted([*read, *(entry.position for entry in entries if done & entry.bit)])),
                presumed=tuple(position for bit, position in enumerate(info_positions) if used >> bit & 1),
            )
            for state, done, used in sorted(nodes, key=_fewer_infos_first)[:DEAD_ENDS_SHOWN]
        ),
    )


def _fewer_infos_first(node: Node) -> tuple[int, int, int, str]:
    state, done, used = node
    return used.bit_count(), done, used, repr(state)  # states may have no order, and sets have none
