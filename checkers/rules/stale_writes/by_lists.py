"""Stale writes by the lists that appends read.

An append reads a list before it writes one. So the list that it read had certainly been accepted by
then, as if a read had returned it. If that list was written with a newer token (strict: or the
same one), an append that took effect was stale, whether or not the newer one was ever acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checkers.explain.conflict import Breach, Conflict, each_once
from checkers.explain.effects import acceptance, ending, first_reader
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, step
from checkers.facts.cluster_columns import ZoneColumns
from checkers.history.columns import Flags
from checkers.history.records import Op, Outcome
from checkers.rules.stale_writes.story import stale_story, took_the_older
from checkers.text.printable import content


def written_after_newer(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
    """Yield appends that took effect after they read what a newer token wrote; mark their zones as broken."""
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


def _wrote_the_older(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    called = f"{n.who(write)} called its append with token {write.token} {n.sent(write)}"
    read = f"it read {content(newer.value)}: that had been accepted by then."
    shown = _took_effect(n, write, conflict.because[1:])
    if write.seen is None:
        order = f"In that list, {content(write.element)} follows {content(newer.element)}"
        steps = (step(f"{called}.", write), *shown, step(f"{order}: before it wrote, {read}", write, newer))
    else:
        steps = (step(f"{called}, and before it wrote, {read}", write, newer), *shown)
    therefore = step(f"So {took_the_older(write, newer)}.", write, newer)
    return stale_story(n, write, newer, (n.sent_step(newer), *steps, therefore))


def _took_effect(n: Narrator, write: Op, found_by: Sequence[Op]) -> tuple[Step, ...]:
    shown = tuple(acceptance(n, (write, op)) for op in found_by or first_reader(n, write))
    return shown or (step(f"{ending(n, write)}.", write),)


# because: the append whose list it had read, and who shows that it took effect, or what it had read
AFTER_NEWER = Breach("stale-write", "after-newer", _wrote_the_older)
