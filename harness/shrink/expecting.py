"""What is expected of something smaller, which need show only one of several expected anomalies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def expecting(anomaly: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """A header or a target that expects only this one of its anomalies; the others may come with it."""
    expected = document.get("expect", ())
    if isinstance(expected, str) or anomaly not in expected:
        return dict(document)
    others = [name for name in expected if name != anomaly]
    may = [*document.get("may", ()), *others]
    return {**document, "expect": [anomaly], **({"may": may} if may else {})}
