"""Lost-update of an element that the list had before the run.

No late write explains the loss, because the element was there before any call: it is always a
violation. The chain back from a list that lacks it ends at the append that had read it and left it
out, which is accused. If no client wrote the list, its reader is accused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from checkers.explain.conflict import Breach, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, step
from checkers.facts.list_history import Lists, as_list, found_by
from checkers.history.records import Element, List, Op
from checkers.rules.lost_updates.story import read_without, size_of, written_without
from checkers.text.printable import content


def initial_elements(lists: Lists) -> Iterator[Element]:
    """Yield the elements from before the run, except those that a client appends."""
    return (each for each in as_list(lists.header.initial_value) if each not in lists.appender)


def lost_by_readers(lists: Lists) -> Iterator[tuple[Element, Conflict]]:
    """Yield each initial element missing from a list that was read, with its conflict."""
    left = dict.fromkeys(initial_elements(lists))
    for reader, shown in lists.readings:
        present = set(shown)
        for element in [each for each in left if each not in present]:
            del left[element]
            way = _way_back(lists, element, shown)
            unwritten = INITIAL_READ_WITHOUT.conflict(reader)
            yield element, INITIAL_WRITTEN_WITHOUT.conflict(way[-1], reader) if way else unwritten


def lost_in_log(lists: Lists, written: Iterable[Op]) -> Iterator[tuple[Element, Conflict]]:
    """Yield each initial element missing in the storage's own order, with the first write that lacks it."""
    left = dict.fromkeys(initial_elements(lists))
    for write in written:
        present = set(as_list(write.value))
        for element in [each for each in left if each not in present]:
            del left[element]
            yield element, INITIAL_LOGGED_WITHOUT.conflict(write)


def _way_back(lists: Lists, element: Element, found: List) -> Sequence[Op]:
    """Return the appends from a list that lacks an element back to the one that had read it."""
    way = []
    for op, built_on in lists.back(found):
        way.append(op)
        if element in built_on:
            break
    return way


def _missing(n: Narrator, found: List, of: List) -> Element:
    """Return the first initial element that `found` lacks, preferably one that `of` has."""
    missing = [each for each in as_list(n.history.header.initial_value) if each not in found]
    return next((each for each in missing if each in of), missing[0])


def _missing_from_list(n: Narrator, conflict: Conflict) -> Story:
    accused = conflict.accused
    reader = conflict.because[0] if conflict.because else accused
    element = _missing(n, found_by(reader), found_by(accused))
    steps = (
        *read_without(n, element, reader, None if accused is reader else accused),
        step(f"Appends only add elements, but {content(element)} is gone."),
    )
    return _lost(n, element, reader, "read", f"it is missing from the list that {n.whom(reader)} read", steps)


def _logged_without(n: Narrator, conflict: Conflict) -> Story:
    by = conflict.accused
    element = _missing(n, as_list(by.value), found_by(by))
    how = f"{n.whom(by)} wrote a list without it"
    return _lost(n, element, by, "wrote", how, written_without(n, element, by))


def _lost(n: Narrator, element: Element, by: Op, did: str, how: str, steps: Iterable[Step]) -> Story:
    """Tell that an element was there before the run, and who read or wrote a list without it."""
    initial, lost = as_list(n.history.header.initial_value), content(element)
    before = f"Before the run, by the header, {by.resource} held {size_of(initial)} with {lost}."
    return Story(
        summary=f"the element {lost}, which {by.resource} had before the run, was lost: {how}",
        steps=(step(before), *steps),
        sentences=(
            f"Before the run, {by.resource} had {lost}.",
            f"{n.who(by)} {did} a list without it: {lost} is gone.",
        ),
    )


INITIAL_READ_WITHOUT = Breach("lost-update", "left-out", _missing_from_list)
# because: the read that lacks it
INITIAL_WRITTEN_WITHOUT = Breach("lost-update", "left-out", _missing_from_list)
INITIAL_LOGGED_WITHOUT = Breach("lost-update", "logged-without", _logged_without)
