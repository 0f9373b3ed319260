"""The data of a drawing as a browser has it once it is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from harness.report.chart_data import GROWING


def unpacked(text: str, parse_int: Callable[[str], Any] = int) -> dict[str, Any]:
    """Read it, and add up the steps of its columns."""
    drawing: dict[str, Any] = json.loads(text, parse_int=parse_int)
    for part, names in GROWING.items():
        drawing[part] |= {name: list(accumulate(drawing[part][name])) for name in names}
    return drawing
