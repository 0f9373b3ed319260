"""Non-linearizable: an append read a list that no client had written, or that was written only later.

Other rules judge the rest: a list written with a newer token (`stale_writes`), an element whose
append had failed (`ghost_writes`), a list that the log lacks (`missing`), and a list that was
outdated when it was read (`lost_updates`).
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, step
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.list_history import as_list
from checkers.history.columns import APPEND
from checkers.history.records import Op, Value
from checkers.text.printable import content


def misfound(evidence: Evidence) -> Iterator[Conflict]:
    """Yield appends that read what was never written, or not yet, in the order of their calls.

    A logged list that no client sent is left to `mismatched_commits`.
    """
    zones, log = zones_of(evidence), evidence.log
    unmatched = () if log is None else log.unmatched
    unsent = {(each.commit.resource, each.commit.value) for each in unmatched}
    writers, before = _writers(zones), as_list(zones.header.initial_value)
    for append in _appends(zones):
        if append.seen is None or append.seen == before or (append.resource, append.seen) in unsent:
            continue
        writer = writers.get((append.resource, append.seen))
        if writer is None:
            yield UNWRITTEN.conflict(append)
        elif not _is_in_time(append, writer):
            yield FOUND_EARLY.conflict(append, writer)


def _appends(zones: ZoneColumns) -> Iterator[Op]:
    rows = zones.columns.rows(APPEND)
    return iter(zones.operations(rows) if len(rows) else ())


def _writers(zones: ZoneColumns) -> dict[tuple[str, Value], Op]:
    return {(op.resource, op.value): op for op in _appends(zones)}


def _is_in_time(append: Op, writer: Op) -> bool:
    """Was the append that wrote the list called before the other append knew what it had read?"""
    return append.learned is None or writer.called <= append.learned


def _unwritten(n: Narrator, conflict: Conflict) -> Story:
    append = conflict.accused
    return Story(
        summary=(
            f"{n.whom(append)} read {content(append.seen)} from {append.resource} in order to append to it,"
            " which no client had written there"
        ),
        steps=(
            step(f"{n.who(append)} read {content(append.seen)}, {_by(n, append)}.", append),
            step(
                f"No append that wrote it to {append.resource} was ever called, and it is not the initial"
                " value."
            ),
        ),
        sentences=(
            f"{n.who(append)} read {content(append.seen)} from {append.resource}.",
            "No client had written that list, and it had not been there before the run.",
        ),
    )


def _found_early(n: Narrator, conflict: Conflict) -> Story:
    append, write = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(append)} read {content(append.seen)} from {append.resource} in order to append to it,"
            " before it was written"
        ),
        steps=(
            step(f"{n.who(append)} read {content(append.seen)}, {_by(n, append)}.", append),
            step(f"{n.who(write)} sent it only later, {n.sent(write)}.", write),
            step(f"So {content(append.seen)} was read before it was written.", append),
        ),
        sentences=(
            f"{n.who(append)} read {content(append.seen)} from {append.resource}.",
            f"{n.who(write)} sent it only at {n.at(write.called)}.",
        ),
    )


def _by(n: Narrator, append: Op) -> str:
    """Say by when an append had read its list."""
    return f"and its append was over {n.answered(append)}"


UNWRITTEN = Breach("non-linearizable", "unwritten", _unwritten)
# because: the append that wrote it
FOUND_EARLY = Breach("non-linearizable", "read-early", _found_early)

CHECKER = Checker("found-lists", "observed", misfound, ("non-linearizable",))
