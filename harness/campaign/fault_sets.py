"""Fault sets: what a matrix means by "pause" or "kill-storage"; each as [[faults]] of a target file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Faults = tuple[dict[str, Any], ...]

_SUPERSEDED = {"kind": "pause", "target": "holder", "at": "before-write", "until": "superseded"}
_GRANTED = _SUPERSEDED | {"at": "granted"}
"""Left out if the lock service grants with a complete answer."""

FAULT_SETS: Mapping[str, Faults] = {
    "pause": (_SUPERSEDED, _SUPERSEDED, _GRANTED),
    "pause-write-sent": (
        _SUPERSEDED,
        {"kind": "pause", "target": "holder", "at": "write-sent", "lasts": "1.5 ttl"},
    ),
    "partition-lock": (
        {"kind": "partition", "target": "holder", "from": "lock", "every": "8s", "lasts": "2 ttl"},
        _SUPERSEDED,
    ),
    "partition-storage": (
        {"kind": "partition", "target": "holder", "from": "storage", "every": "8s", "lasts": "1s"},
        _SUPERSEDED,
    ),
    "delay-write": (
        {"kind": "delay", "target": "holder", "to": "both", "at": "before-write", "until": "superseded"},
        _SUPERSEDED,
    ),
    "pause-storage": (
        {"kind": "pause", "target": "storage", "every": "8s", "lasts": "1s"},
        _SUPERSEDED,
        _SUPERSEDED,
    ),
    "kill-lock": ({"kind": "kill", "target": "lock", "lasts": "1s"}, _SUPERSEDED, _SUPERSEDED),
    "kill-storage": (
        {"kind": "kill", "target": "storage", "every": "10s", "lasts": "1s"},
        _SUPERSEDED,
        _SUPERSEDED,
    ),
}
"""Each challenges the fence with a pause as well: without one, no write is stale."""


def without_granted(faults: Faults) -> Faults:
    """Leave out the stop point that a lock with complete answers never reaches."""
    return tuple(fault for fault in faults if fault != _GRANTED)
