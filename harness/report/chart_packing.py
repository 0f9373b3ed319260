"""Numbers that grow along a column, as their steps: about half the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

GROWING = {"operations": ("from", "to", "call", "answer"), "accepted": ("at", "earliest", "latest")}
"""As in `format.js`, which adds the steps up again."""


def packed(drawing: Mapping[str, Any]) -> dict[str, Any]:
    """A drawing's data, with the steps of such columns in place of their numbers."""
    return {**drawing, **{part: _stepped(drawing[part], names) for part, names in GROWING.items()}}


def _stepped(columns: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    steps = {name: np.diff(np.array(columns[name], dtype=np.int64), prepend=0).tolist() for name in names}
    return {**columns, **steps}
