"""The three numbers of an answer, chosen for its anomaly; and what a run had nothing to compare for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np

from checkers.history.columns import ABSENT, ACQUIRE, FUNCTIONS, OK, Operations
from checkers.history.records import Op
from checkers.vocabulary.counts import COVERAGE, WORK, called
from checkers.vocabulary.counts import counted as meaning_of
from checkers.vocabulary.document import VerdictDocument
from harness.report.headline import RunAnswer, Tone
from harness.report.sentences import capitalized

_HELD = (
    "stale_writes_attempted",
    "stale_writes_rejected",
    "pauses_past_lease",
    "grants_to_others",
    "server_faults",
    "grants",
    "writes",
    "appends",
)
"""The first of these that are not zero: for a run without an anomaly, and in place of a zero."""

_ALWAYS = {"found", "stale_writes_attempted", "stale_writes_rejected", "stale_writes_accepted"}
"""The counts that are meaningful even if they are zero."""

_MOST = 3
_WORK = {"reads": "read", "writes": "write", "appends": "append"}
_SERVER_FAULTS = ("kills", "failovers", "clock_jumps")
_ALARMS = {"found", "stale_writes_accepted"}


def counters(answer: RunAnswer, document: VerdictDocument, operations: Sequence[Op]) -> list[SimpleNamespace]:
    """The numbers for an answer; fewer if the run did not count them."""
    counts = document.coverage | _work_of(operations)
    by_tokens = gives_tokens(operations)
    counts["server_faults"] = sum(counts.get(name, 0) for name in _SERVER_FAULTS)
    if answer.anomaly is None:
        names = [name for name in _HELD if counts.get(name)] or ["grants"]
        if "stale_writes_attempted" in counts and answer.tone is Tone.UNSURE:
            names = ["stale_writes_attempted", *(name for name in names if name != "stale_writes_attempted")]
        return [_counter(name, counts, by_tokens=by_tokens) for name in names[:_MOST] if name in counts]
    anomaly = answer.anomaly
    counts["found"] = document.anomalies.get(anomaly.name, 0)
    telling = [name for name in anomaly.counters if name in counts and (counts[name] or name in _ALWAYS)]
    names = list(dict.fromkeys([*telling, *(name for name in _HELD if counts.get(name))]))
    return [
        _found(anomaly.name, counts["found"])
        if name == "found"
        else _counter(name, counts, by_tokens=by_tokens)
        for name in names[:_MOST]
    ]


def untested(operations: Sequence[Op]) -> dict[str, str]:
    """What the run lacked to find an anomaly, by its name; nothing is known of a run without operations."""
    if not len(operations):
        return {}
    work = _work_of(operations)
    lacking = {}
    if not gives_tokens(operations):
        lacking["duplicate-token"] = lacking["token-regression"] = "no tokens"
    if not work["appends"]:
        lacking["lost-update"] = "no appends"
        if not work["reads"]:
            lacking["stale-read"] = "no reads"
    return lacking


def gives_tokens(operations: Sequence[Op]) -> bool:
    """Did a grant carry a fencing token, or was there none?"""
    columns = Operations.of(operations).columns
    tokens = columns.token[(columns.f == ACQUIRE) & (columns.outcome == OK)]
    return not len(tokens) or bool(np.any(tokens != ABSENT))


def _work_of(operations: Sequence[Op]) -> dict[str, int]:
    """How many reads, writes and appends were answered with ok."""
    columns = Operations.of(operations).columns
    answered = np.bincount(columns.f[columns.outcome == OK], minlength=len(FUNCTIONS)).tolist()
    return {name: answered[FUNCTIONS.index(f)] for name, f in _WORK.items()}


def _found(name: str, number: int) -> SimpleNamespace:
    words = name.replace("-", " ").capitalize()
    return SimpleNamespace(name=words, number=number, what="found in this run", alarm=number > 0)


def _counter(name: str, counts: Mapping[str, int], *, by_tokens: bool) -> SimpleNamespace:
    what = meaning_of(name, by_tokens=by_tokens) if name in COVERAGE else WORK[name]
    known = counts.get("stale_writes_rejected", 0) + counts.get("stale_writes_accepted", 0)
    if name == "stale_writes_attempted" and counts[name] > known:
        what += f"; {counts[name] - known:,} with an unknown outcome"
    return SimpleNamespace(
        name=capitalized(called(name)),
        number=counts[name],
        what=what,
        alarm=name in _ALARMS and counts[name] > 0,
    )
