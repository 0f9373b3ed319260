"""Interrupted runs: by Ctrl-C, by a signal, or because their harness was killed."""

from __future__ import annotations

import numpy as np
from msgspec import UNSET

from checkers.history.columns import NEVER, Operations
from checkers.history.records import History
from checkers.vocabulary.document import InterruptionDocument
from harness.core.duration import NS
from harness.report.recorded_run import RecordedPlan


def interruption(plan: RecordedPlan, history: History) -> InterruptionDocument | None:
    """Say when a run was interrupted; None if it worked as long as planned, or if the plan does not say.

    A killed run could not record its end: it worked at least until the last event of the history.
    """
    started, duration, ended = plan.started, plan.duration, plan.ended
    if started is None or duration is None or ended is UNSET:
        return None
    worked = (_last_event(history, started) if ended is None else ended) - started
    if worked >= duration:
        return None
    return InterruptionDocument(
        seconds=round(max(0, worked) / NS["s"], 3), planned=round(duration / NS["s"], 3)
    )


def in_words(cut: InterruptionDocument | None) -> str:
    """Such as "interrupted at 5 of 20 s"; empty for a run that was not interrupted."""
    return f"interrupted at {_number(cut.seconds)} of {_number(cut.planned)} s" if cut else ""


def _number(seconds: float) -> str:
    """Seconds to a tenth, without a trailing ".0"."""
    return f"{seconds:.1f}".removesuffix(".0")


def _last_event(history: History, started: int) -> int:
    columns = Operations.of(history.operations).columns
    if not len(columns):
        return started
    returned = np.where(columns.returned == NEVER, 0, columns.returned)
    return int(max(columns.called.max(), returned.max(), columns.learned.max()))
