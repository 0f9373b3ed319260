"""Words for the reader and the writer of a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, step
from checkers.facts.list_history import found_by
from checkers.history.records import Element, List, Op
from checkers.text.printable import content


def size_of(found: List) -> str:
    """Describe a list by the number of its elements."""
    return f"a list of {len(found)} element{'' if len(found) == 1 else 's'}" if found else "an empty list"


def read_without(
    n: Narrator, element: Element | None, reader: Op, dropped_by: Op | None = None
) -> tuple[Step, ...]:
    """Say who read a list without an element, who had written that list, and which append dropped it."""
    why = "read the list in order to append to it" if reader.f == "append" else "read the list"
    return (
        step(f"After that, {n.whom(reader)} {why} {n.sent(reader)}.", reader),
        step(f"{size_of(found_by(reader)).capitalize()} came back {n.answered(reader)}, without it.", reader),
        *_written(n, element, reader, dropped_by),
    )


def written_without(n: Narrator, element: Element | None, by: Op) -> tuple[Step, ...]:
    """Say which append the storage's own order has without an element, after a list with it."""
    return (
        step(
            f"{n.who(by)} appended {content(by.element)}{n.with_token(by)} {n.sent(by)}, and the list"
            f" that it wrote is {n.place(by)} in the storage's own order.",
            by,
        ),
        step(f"The list before it has {content(element)}; this one does not."),
    )


def _written(n: Narrator, element: Element | None, reader: Op, dropped_by: Op | None) -> Iterator[Step]:
    by = n.index.writer(replace(reader, value=found_by(reader)))
    if by is not None:
        yield step(f"That list was written by {n.whom(by)}, which {_appended(n, by, element)}.", by)
    if dropped_by not in {by, None}:
        yield step(
            f"It goes back to a list by {n.whom(dropped_by)}, which {_appended(n, dropped_by, element)}.",
            dropped_by,
        )


def _appended(n: Narrator, by: Op, element: Element | None) -> str:
    return f"appended {content(by.element)} to it{n.with_token(by)} {n.sent(by)}, and {_how(by, element)}"


def _how(by: Op, element: Element | None) -> str:
    """Say why the list that an append wrote lacks an element."""
    if by.seen is None:
        return "it is not known which list it had read"
    if element in by.seen:
        return f"left {content(element)} out although it had read it"
    return f"had read it without {content(element)}"
