"""Runs that ended before their time: by Ctrl-C, by a signal, or with their harness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkers.history.reader import History
from harness.core.duration import NS


def interruption(plan: Mapping[str, Any], history: History) -> dict[str, float] | None:
    """Say after how many seconds of how many a run ended, from plan.json; None if it worked to its end.

    A run that was killed could not note its end: it worked at least until the last recorded event.
    None also for a plan that does not say, as of an older version.
    """
    started, duration, ended = (plan.get(name) for name in ("started", "duration", "ended"))
    if not isinstance(started, int) or not isinstance(duration, int) or "ended" not in plan:
        return None
    worked = (ended if isinstance(ended, int) else _last_event(history, started)) - started
    if worked >= duration:
        return None
    return {"seconds": round(max(0, worked) / NS["s"], 3), "planned": round(duration / NS["s"], 3)}


def in_words(document: Mapping[str, Any]) -> str:
    """Say it as a person would, "interrupted at 5 of 20 s"; empty for a run that worked to its end."""
    cut = document.get("interrupted")
    if not isinstance(cut, Mapping):
        return ""
    return f"interrupted at {_number(cut.get('seconds'))} of {_number(cut.get('planned'))} s"


def _number(seconds: object) -> str:
    """Seconds to a tenth, without a zero that says nothing."""
    return f"{seconds:.1f}".removesuffix(".0") if isinstance(seconds, int | float) else "?"


def _last_event(history: History, started: int) -> int:
    moments = (max(op.called, op.returned or 0, op.learned or 0) for op in history.operations)
    return max(moments, default=started)
