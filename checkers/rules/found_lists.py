"""What the lists that were read show of the appends that had written them (see `shown_appends`).

An append reads a list before it writes one. So the list that it read had been accepted by
then, as certainly as if a read had returned it, and what it wrote came after:

- If the list was written with a newer token (strict: or with the same one), an append that took
  effect was stale, whether or not the newer one was ever acknowledged.
- If the append of one of its elements had failed, it took effect all the same.
- If a complete commit log lacks that list, it is as with a read of what the log lacks (see `missing`).
- If no client had written that list, or only later, no order of the operations explains it.

That a list was old when it was read is another matter: see `lost_updates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checkers.explain.checker import Checker
from checkers.explain.conflict import Breach, Conflict, each_once
from checkers.explain.effects import acceptance, ending, first_reader
from checkers.explain.narrator import Narrator
from checkers.explain.phrases import content
from checkers.explain.story import Step, Story, step
from checkers.explain.telling import tell
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence, log_of
from checkers.history.columns import APPEND, Flags
from checkers.history.records import List, Op, Outcome, Value
from checkers.rules.ghost_writes import failed_and_took_effect, reported_as_failed
from checkers.rules.stale_story import stale_story, took_the_older


def written_after_newer(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
    """Appends that took effect after they had read what a newer token wrote; marks their zones as broken."""
    is_strict = zones.header.policy == "strict"
    for append, writer in zones.shown.pairs:
        if append.token is None or writer.token is None or writer.token < append.token + (not is_strict):
            continue
        place, shown_by = zones.place_of(append), zones.shown.by.get(append.index)
        if place >= 0 and not broken[place]:
            broken[place] = True
            is_known = append.outcome is Outcome.OK and append.seen is not None
            yield AFTER_NEWER.conflict(append, *each_once(append, writer, None if is_known else shown_by))
        elif place < 0 and append.outcome is Outcome.INFO and shown_by is not None:
            yield AFTER_NEWER.conflict(append, *each_once(append, writer, shown_by))


def ghosts_that_were_found(zones: ZoneColumns) -> Iterator[Conflict]:
    """Appends that ended in fail, each with the first to have read a list with its element."""
    for append in zones.shown.appends:
        if append.outcome is Outcome.FAIL:
            yield FAILED_BUT_FOUND.conflict(append, zones.shown.by[append.index])


def misfound(evidence: Evidence) -> Iterator[Conflict]:
    """Appends that read what was not written, or not yet; in the order of their calls.

    What nobody sent and the log has is left to it.
    """
    zones, log = zones_of(evidence), log_of(evidence)
    unmatched = () if log is None else log.unmatched
    unsent = {(each.commit.resource, each.commit.value) for each in unmatched}
    writers, before = _writers(zones), _list(zones.header.initial_value)
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
    """Had the append that wrote the list been called before the other knew what it had read?"""
    return append.learned is None or writer.called <= append.learned


def _list(value: Value) -> List:
    """A value as a list: one that is none has no elements."""
    return value if isinstance(value, tuple) else ()


def _wrote_the_older(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    called = f"{n.who(write)} called its append with token {write.token} {n.sent(write)}"
    read = f"it read {content(newer.value)}: that had been accepted by then."
    shown = _took_effect(n, write, conflict.because[1:])
    if write.seen is None:
        order = f"In that list, {content(write.element)} follows {content(newer.element)}"
        steps = (
            step(f"{called}.", write),
            *shown,
            step(f"{order}: before it wrote, {read}", write, newer),
        )
    else:
        steps = (step(f"{called}, and before it wrote, {read}", write, newer), *shown)
    therefore = step(f"So {took_the_older(write, newer)}.", write, newer)
    return stale_story(n, write, newer, (n.sent_step(newer), *steps, therefore))


def _took_effect(n: Narrator, write: Op, found_by: Sequence[Op]) -> tuple[Step, ...]:
    shown = tuple(acceptance(n, (write, op)) for op in found_by or first_reader(n, write))
    return shown or (step(f"{ending(n, write)}.", write),)


def _failed_but_found(n: Narrator, conflict: Conflict) -> Story:
    write, append = conflict.accused, conflict.because[0]
    return Story(
        summary=failed_and_took_effect(n, write),
        steps=(
            *reported_as_failed(n, write),
            acceptance(n, (write, append)),
            step(f"Only that append adds {content(write.element)}: it took effect all the same.", write),
        ),
        sentences=tell(
            f"{n.who(write)} appended {content(write.element)} to {write.resource}, and was answered"
            " that it failed.",
            f"{n.who(append)} read a list that has it: it took effect all the same.",
        ),
    )


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
        sentences=tell(
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
        sentences=tell(
            f"{n.who(append)} read {content(append.seen)} from {append.resource}.",
            f"{n.who(write)} sent it only at {n.at(write.called)}.",
        ),
    )


def _by(n: Narrator, append: Op) -> str:
    """By when an append had read its list."""
    return f"and its append was over {n.answered(append)}"


# because: the append whose list it had read, and who shows that it took effect, or what it had read
AFTER_NEWER = Breach(anomaly="stale-write", rule="after-newer", story=_wrote_the_older)
# because: the append that read it
FAILED_BUT_FOUND = Breach(anomaly="ghost-write", rule="failed-but-read", story=_failed_but_found)
UNWRITTEN = Breach(anomaly="non-linearizable", rule="unwritten", story=_unwritten)
# because: the append that wrote it
FOUND_EARLY = Breach(anomaly="non-linearizable", rule="read-early", story=_found_early)

CHECKER = Checker(name="found-lists", evidence="observed", decides=("non-linearizable",), check=misfound)
