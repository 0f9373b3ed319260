"""How it is told that an element was lost from a list."""

from __future__ import annotations

from dataclasses import replace

from checkers.conflict import Conflict, Rule
from checkers.explain.narrator import Narrator, Stories, Story
from checkers.explain.phrases import content
from checkers.history.records import List, Op, Outcome
from checkers.lists.lost_updates import found_by


def _absent(n: Narrator, conflict: Conflict) -> Story:
    """Told of whoever read a list without it, whether or not that one is to blame."""
    lost, shown, *rest = conflict.because
    reader = rest[0] if rest else conflict.accused
    return Story(
        summary=(
            f"the element {content(lost.element)}, which {n.whom(lost)} had appended to {lost.resource}, was"
            f" lost: it is missing from the list that {n.whom(reader)} read afterwards"
        ),
        steps=(
            *_known(n, lost, shown),
            f"After that, {n.whom(reader)} {_why(reader)} {n.sent(reader)}.",
            f"{_list(found_by(reader)).capitalize()} came back {n.answered(reader)}, without it.",
            *_written(n, lost, reader),
            f"An element that was appended under the lock must stay, but {content(lost.element)} is gone.",
        ),
        proof=(lost, shown, reader),
    )


def _same_list_read(n: Narrator, conflict: Conflict) -> Story:
    (lost, *shown), by = conflict.because, conflict.accused
    return Story(
        summary=(
            f"{n.whom(lost)} and {n.whom(by)} both appended to the same list of {lost.resource}:"
            f" {content(lost.element)} or {content(by.element)} was lost"
        ),
        steps=(
            *(
                f"{n.who(op)}, whose append was called {n.sent(op)}, read {_list(_built_on(op))} and wrote it"
                f" back with {content(op.element)}{_as_told(n, op)}."
                for op in (lost, by)
            ),
            *(f"{n.who(op)} read the result {n.answered(op)}." for op in shown),
            "Both read the same list, and both took effect: the later one overwrote the other.",
            *_fenced_first(n, lost, by),
        ),
        proof=(lost, by, *shown),
    )


def _as_told(n: Narrator, append: Op) -> str:
    return f", as it was told {n.answered(append)}" if append.outcome is Outcome.OK else ""


def _fenced_first(n: Narrator, lost: Op, by: Op) -> tuple[str, ...]:
    """Why a write that was late is no excuse, where new holders fence before they read."""
    if not n.history.header.fence_on_acquire or (lost.token or 0) >= (by.token or 0):
        return ()
    return (
        (
            f"No late write excuses this: in this run a new holder fences before it reads (fence_on_acquire"
            f" in line 1), so once {n.whom(by)} had read with token {by.token}, nothing with the older token"
            f" {lost.token} could still be written."
        ),
    )


def _logged_without(n: Narrator, conflict: Conflict) -> Story:
    lost, shown, by = conflict.because[0], conflict.because[-1], conflict.accused
    return Story(
        summary=(
            f"the element {content(lost.element)}, which {n.whom(lost)} had appended to {lost.resource}, was"
            f" lost: {n.whom(by)} wrote a list without it"
        ),
        steps=(
            *_known(n, lost, shown),
            (
                f"{n.who(by)} appended {content(by.element)} with token {by.token} {n.sent(by)}, and the list"
                f" that it wrote is {n.place(by)} in the storage's own order."
            ),
            f"The list before it has {content(lost.element)}; this one does not.",
        ),
        proof=(lost, shown, by),
    )


def _known(n: Narrator, lost: Op, shown: Op) -> tuple[str, ...]:
    """Why the element had been in the list for certain."""
    sent = f"{n.who(lost)} appended {content(lost.element)} with token {lost.token} {n.sent(lost)}"
    if shown is lost:
        return (f"{sent}, and the storage said ok {n.answered(lost)}.",)
    return (
        f"{sent}.",
        f"A list that {n.whom(shown)} read had it {n.answered(shown)}, so it had been stored by then.",
    )


def _built_on(append: Op) -> List:
    """What an append read; one that told nothing wrote that, and its element."""
    if append.seen is not None:
        return append.seen
    return append.value[:-1] if isinstance(append.value, tuple) else ()


def _list(found: List) -> str:
    return f"a list of {len(found)} element{'' if len(found) == 1 else 's'}" if found else "an empty list"


def _why(reader: Op) -> str:
    return "read the list in order to append to it" if reader.f == "append" else "read the list"


def _written(n: Narrator, lost: Op, reader: Op) -> tuple[str, ...]:
    """Who wrote the list that lacks it."""
    by = n.index.writer(replace(reader, value=found_by(reader)))
    if by is None:
        return ()
    return (
        (
            f"That list was written by {n.whom(by)}, who appended {content(by.element)} to it with token"
            f" {by.token} {n.sent(by)}, and {_how(by, lost)}."
        ),
    )


def _how(by: Op, lost: Op) -> str:
    """How it comes that the list that one wrote lacks what another had appended."""
    if by.seen is None:
        return "which list it had read is unknown"
    if lost.element in by.seen:
        return f"left {content(lost.element)} out although it had read it"
    return f"had read it without {content(lost.element)}"


STORIES: Stories = {
    Rule.READ_WITHOUT: _absent,
    Rule.WRITTEN_WITHOUT: _absent,
    Rule.SAME_LIST_READ: _same_list_read,
    Rule.LOGGED_WITHOUT: _logged_without,
}
