"""Non-linearizable: an append read a list that no client had written, or that was written only later.

Other rules judge the rest: a list written with a newer token (`stale_writes`), an element whose
append had failed (`ghost_writes`), a list that the log lacks (`missing`), and a list that was
outdated when it was read (`lost_updates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, step
from checkers.facts.cluster_columns import zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.list_history import as_list
from checkers.history.columns import APPEND
from checkers.text.printable import content


def misfound(evidence: Evidence) -> Iterator[Conflict]:
    """Yield appends that read what was never written, or not yet, in the order of their calls.

    A logged list that no client sent is left to `mismatched_commits`.
    """
    zones, log = zones_of(evidence), evidence.log
    unmatched = () if log is None else log.unmatched
    unsent = {(each.commit.resource, each.commit.value) for each in unmatched}
    appends = zones.operations(zones.columns.rows(APPEND))
    writers, before = {(op.resource, op.value): op for op in appends}, as_list(zones.header.initial_value)
    for append in appends:
        if append.seen is None or append.seen == before or (append.resource, append.seen) in unsent:
            continue
        writer = writers.get((append.resource, append.seen))
        if writer is None:
            yield UNWRITTEN.conflict(append)
        elif append.learned is not None and append.learned < writer.called:
            yield FOUND_EARLY.conflict(append, writer)


def _unwritten(n: Narrator, conflict: Conflict) -> Story:
    resource = conflict.accused.resource
    never = f"No append that wrote it to {resource} was ever called, and it is not the initial value."
    sentence = "No client had written that list, and it had not been there before the run."
    return _misfound(n, conflict, "which no client had written there", [step(never)], sentence)


def _found_early(n: Narrator, conflict: Conflict) -> Story:
    append, write = conflict.accused, conflict.because[0]
    steps = (
        step(f"{n.who(write)} sent it only later, {n.sent(write)}.", write),
        step(f"So {content(append.seen)} was read before it was written.", append),
    )
    sentence = f"{n.who(write)} sent it only at {n.at(write.called)}."
    return _misfound(n, conflict, "before it was written", steps, sentence)


def _misfound(n: Narrator, conflict: Conflict, why: str, steps: Iterable[Step], sentence: str) -> Story:
    """Tell which list an append had read, and why it cannot have."""
    append = conflict.accused
    found = f"read {content(append.seen)}"
    over = f"and its append was over {n.answered(append)}"
    return Story(
        summary=f"{n.whom(append)} {found} from {append.resource} in order to append to it, {why}",
        steps=(step(f"{n.who(append)} {found}, {over}.", append), *steps),
        sentences=(f"{n.who(append)} {found} from {append.resource}.", sentence),
    )


UNWRITTEN = Breach("non-linearizable", "unwritten", _unwritten)
# because: the append that wrote it
FOUND_EARLY = Breach("non-linearizable", "read-early", _found_early)

CHECKER = Checker("found-lists", "observed", misfound, ("non-linearizable",))
