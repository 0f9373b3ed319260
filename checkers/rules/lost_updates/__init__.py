"""Lost-update: an element that was appended under the lock was missing when the list was read.

An element is *known* from the first moment at which its append had returned ok, or a
list with it had been read: by a read, or by an append before it wrote. It is lost if

- it is absent from a list read that was called after that moment (elements from before
  the run: from any list read, see `initial_elements`); or
- two appends that took effect read the same list, since the later one wrote over the other's element; or
- the commit log has a list without it after a list with it.

**Which append dropped it.** Each list was written by one append, which had read another list, and so on: from
a list that lacks the element, this chain leads back to the append that read before the element came, and
wrote after. The chain ends before an append that certainly came before the element. That is one whose list
the element's own append built on, or that returned before that append's call, or, behind a fence, that has a
lower token (unless it was called when the element was known, and so was a stale write). The last append in
the chain is accused. If the chain is empty, no append overwrote the element: the reader got a list from
before it, and is accused itself.

**Which losses are violations.** A fence lets tokens through in order, and that is not enough. A holder reads,
and an older holder's write arrives late, with a token that is still good. Then the new holder writes what it
had read and its own element. Neither the lock service nor the storage did anything wrong. So a lost update is
only counted if an append in the chain explains it: its token is not below the lost append's, and it was
called before the element was known, so it can have read before the element came. In a right run the append
that dropped the element is one of these, so a right run is never accused. Nothing explains an append that had
read the element and left it out. Where the lock gives no tokens, the append's hold must not surely precede
the lost append's (see `hold_order`).

If a new holder raises the fence before it reads (`fence_on_acquire`), no older holder's
write can come in between. Then only an append of the same token explains it: the
holder's own, whose outcome it never learned and which it did not wait for.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain

from checkers.explain.conflict import Checker, Conflict
from checkers.facts.evidence import Evidence
from checkers.facts.list_history import Lists, as_list, found_by, lists_of
from checkers.history.memoized import memoized
from checkers.history.records import Element, List, Op
from checkers.rules.lost_updates.initial_elements import lost_by_readers, lost_in_log
from checkers.rules.lost_updates.story import LOGGED_WITHOUT, READ_WITHOUT, SAME_LIST_READ, WRITTEN_WITHOUT


def lost_updates(evidence: Evidence) -> Iterator[Conflict]:
    """Yield one conflict for each append that clients saw drop elements of others or from before the run.

    Losses in the storage's own order are left to `dropped_in_log`.
    """
    logged = _dropped_in_log(evidence)
    for lists in lists_of(evidence):
        known = {element for element, conflict in logged if conflict.accused.resource == lists.resource}
        lost = dict(losses(lists))
        overwritten = ((each, _overwritten(lists, each, reader)) for each, reader in lost.items())
        found = chain(lost_by_readers(lists), overwritten)
        yield from _worst(conflict for element, conflict in found if element not in known)
        yield from _worst(_same_list(lists, {*lost, *known}))


def dropped_in_log(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the exact losses: appends in the log without what the list before them had."""
    return _worst(conflict for _, conflict in _dropped_in_log(evidence))


@memoized
def _dropped_in_log(evidence: Evidence) -> tuple[tuple[Element, Conflict], ...]:
    return tuple(_without_what_was_there(evidence))


def _without_what_was_there(evidence: Evidence) -> Iterator[tuple[Element, Conflict]]:
    if evidence.log is None or not evidence.resources("append"):
        return
    written: dict[str, list[Op]] = defaultdict(list)
    for entry in evidence.log.entries:
        if not entry.is_unrecorded and not entry.commit.fence:
            written[entry.op.resource].append(entry.op)
    for lists in lists_of(evidence):
        yield from lost_in_log(lists, written[lists.resource])
        there: dict[Element, Op] = {}  # each element with the write that last brought it
        before: List = ()
        for write in written[lists.resource]:
            after = as_list(write.value)
            if after[: len(before)] == before:  # the usual case
                for element in after[len(before) :]:
                    there.setdefault(element, write)
            else:
                present = set(after)
                dropped = {element: by for element, by in there.items() if element not in present}
                yield from _dropped_by(lists, write, dropped)
                there = {element: there.get(element, write) for element in after}
            before = after


def losses(lists: Lists) -> Iterator[tuple[Element, Op]]:
    """Yield each element missing from a list read after it was known, with the first reader of such a list.

    Linear in the lists: the elements known and not lost are scanned only where a list lacks one.
    """
    coming = list(lists.known.items())
    upto = 0
    there: dict[Element, None] = {}  # known by now and not lost
    for reader, shown in lists.readings:
        while upto < len(coming) and coming[upto][1].time < reader.called:
            there[coming[upto][0]] = None
            upto += 1
        present = set(shown)
        if there.keys() <= present:
            continue
        for element in [each for each in there if each not in present]:
            del there[element]
            yield element, reader


def _overwritten(lists: Lists, element: Element, reader: Op) -> Conflict:
    """Return the conflict of the append that dropped an element, as a violation or only counted."""
    lost, known = lists.appender[element], lists.known[element]
    way = list(lists.way_back(found_by(reader), lost, known))
    if not way:
        return READ_WITHOUT.conflict(reader, lost, known.by)
    is_explained = lists.explains(way, lost, known.time)
    return WRITTEN_WITHOUT.conflict(way[-1], lost, known.by, reader, counted=is_explained)


def _dropped_by(lists: Lists, write: Op, brought: Mapping[Element, Op]) -> Iterator[tuple[Element, Conflict]]:
    """Yield the loss of each of these elements that a client knew of and this write certainly dropped.

    Either the write must not have known of the write that `brought` the element, because the list it had
    read is from before that; or a late write had already dropped the element from the list it had read.
    """
    after = as_list(write.value)
    for element, by in brought.items():
        known = lists.known.get(element)
        if known is not None:
            lost = lists.appender[element]
            way = list(lists.way_back(after, lost, known))
            is_late = lists.explains((write,), by, _known_of(lists, by))
            counted = is_late or lists.explains(way, lost, known.time)
            yield element, LOGGED_WITHOUT.conflict(write, lost, known.by, counted=counted)


def _known_of(lists: Lists, append: Op) -> float:
    """Return when an append was first known to have taken effect."""
    known = None if append.element is None else lists.known.get(append.element)
    return math.inf if known is None else known.time


def _same_list(lists: Lists, lost: AbstractSet[Element | None]) -> Iterator[Conflict]:
    """Yield a conflict for each append known to have built on the same list as the one before it."""
    same: dict[List, list[Op]] = defaultdict(list)
    for op in lists.appends:
        built_on = lists.built_on(op)
        if built_on is not None and op.element in lists.known:
            same[built_on].append(op)
    for appends in same.values():
        appends.sort(key=lambda op: (-1 if op.token is None else op.token, lists.asked(op), op.called))
        for first, second in itertools.pairwise(appends):
            if lost.isdisjoint({first.element, second.element}):
                shown = (*lists.shown(first), *lists.shown(second))
                is_explained = lists.explains((second,), first, _known_of(lists, first))
                yield SAME_LIST_READ.conflict(second, first, *shown, counted=is_explained)


def _worst(conflicts: Iterable[Conflict]) -> Iterator[Conflict]:
    """Yield one conflict for each accused: preferably one that nothing explains."""
    found: dict[int, Conflict] = {}
    for conflict in conflicts:
        known = found.setdefault(conflict.accused.index, conflict)
        if known.counted and not conflict.counted:
            found[conflict.accused.index] = conflict
    yield from found.values()


OBSERVED = Checker("lost-update", "observed", lost_updates)
COMMITTED = Checker("lost-update", "committed", dropped_in_log)
