"""The stories of a lost update: who appended, who was delayed, and whose list lacked the element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from checkers.explain.causes import of_late_write, of_late_writes, of_restart
from checkers.explain.conflict import Breach, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, Story, step
from checkers.explain.telling import fault_steps, was_held_up
from checkers.facts.list_history import found_by
from checkers.history.records import Element, List, Op, Outcome
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
        appended = _appended(n, dropped_by, element)
        yield step(f"It goes back to a list by {n.whom(dropped_by)}, which {appended}.", dropped_by)


def _appended(n: Narrator, by: Op, element: Element | None) -> str:
    return f"appended {content(by.element)} to it{n.with_token(by)} {n.sent(by)}, and {_how(by, element)}"


def _how(by: Op, element: Element | None) -> str:
    """Say why the list that an append wrote lacks an element."""
    if by.seen is None:
        return "it is not known which list it had read"
    if element in by.seen:
        return f"left {content(element)} out although it had read it"
    return f"had read it without {content(element)}"


def _absent(n: Narrator, conflict: Conflict) -> Story:
    """Tell it from the client that read a list without the element, whether or not its read is accused."""
    lost, _, *rest = conflict.because
    reader, element = rest[0] if rest else conflict.accused, content(lost.element)
    gone = f"An element that was appended under the lock must stay, but {element} was not there."
    steps = read_without(n, lost.element, reader)
    how = f"it is missing from the list that {n.whom(reader)} read afterwards"
    return _lost(n, conflict, reader, how, steps, step(gone, lost))


def _logged_without(n: Narrator, conflict: Conflict) -> Story:
    lost, by = conflict.because[0], conflict.accused
    how = f"{n.whom(by)} wrote a list without it"
    return _lost(n, conflict, by, how, written_without(n, lost.element, by))


def _lost(n: Narrator, conflict: Conflict, by: Op, how: str, then: Iterable[Step], *last: Step) -> Story:
    """Tell who appended an element, and by whose list it is known to be lost."""
    lost, shown, *_ = conflict.because
    cause = _cause(n, lost, *dict.fromkeys((by, conflict.accused)))
    return Story(
        summary=(
            f"the element {content(lost.element)}, which {n.whom(lost)} had appended to {lost.resource}, was"
            f" lost: {how}"
        ),
        steps=(*_in_time(n, cause, lost, conflict.accused, _known(n, lost, shown), then), *last),
        sentences=_short_story(n, lost, by, cause),
        cause=cause,
    )


def _same_list_read(n: Narrator, conflict: Conflict) -> Story:
    (lost, *shown), by = conflict.because, conflict.accused
    cause = _cause(n, lost, by)
    return Story(
        summary=(
            f"{n.whom(lost)} and {n.whom(by)} both appended to the same list of {lost.resource}:"
            f" {content(lost.element)} or {content(by.element)} was lost"
        ),
        steps=(
            *fault_steps(n, cause, _held_up(n, cause, by, lost)),
            *(
                step(
                    f"{n.who(op)}, whose append was called {n.sent(op)}, read {size_of(_built_on(op))} and"
                    f" wrote it back with {content(op.element)}{_with_answer(n, op)}.",
                    op,
                )
                for op in (lost, by)
            ),
            *(step(f"{n.who(op)} read a list that shows it {n.answered(op)}.", op) for op in shown),
            step("Both read the same list, and both took effect: the later one overwrote the other."),
            *_fenced_first(n, lost, by),
        ),
        sentences=_short_story(n, lost, by, cause),
        cause=cause,
    )


def _cause(n: Narrator, lost: Op, *others: Op) -> Cause | None:
    """Return what delayed a late append, or else a restart after which the element was gone."""
    appends = [op for op in dict.fromkeys((*others[::-1], lost)) if op.f == "append"]
    return of_late_writes(n, appends) or of_restart(n, lost, others[0])


def _held_up(n: Narrator, cause: Cause | None, *appends: Op) -> Op | None:
    """Return the append that came too late because of `cause`."""
    is_late = (op for op in appends if op.f == "append" and of_late_write(n, op) == cause)
    return None if cause is None or cause.fault is None else next(is_late, None)


def _in_time(
    n: Narrator, cause: Cause | None, lost: Op, by: Op, known: Iterable[Step], then: Iterable[Step]
) -> tuple[Step, ...]:
    """Say what happened to the lost append, and then; a fault comes before the append that it delayed."""
    late = _held_up(n, cause, by, lost)
    faults = [*fault_steps(n, cause, late)]
    return (*faults, *known, *then) if late is lost else (*known, *faults, *then)


def _short_story(n: Narrator, lost: Op, by: Op, cause: Cause | None) -> tuple[str, ...]:
    """Say who appended what, who was delayed, and whose list lacked it."""
    late = _held_up(n, cause, by, lost)
    grant = None if late is None else n.grant_behind(late)
    held_up = "" if late is None or grant is None else f"{was_held_up(n, cause, grant, n.who(late))}."
    did = "wrote" if by.f == "append" else "read"
    return (
        f"{n.who(lost)} appended {content(lost.element)} to {lost.resource}{n.with_token(lost)}.",
        held_up,
        f"{n.who(by)} {did} a list without it.",
    )


def _with_answer(n: Narrator, append: Op) -> str:
    return f", acknowledged {n.answered(append)}" if append.outcome is Outcome.OK else ""


def _fenced_first(n: Narrator, lost: Op, by: Op) -> tuple[Step, ...]:
    """Say why a late write is no excuse where new holders fence before they read."""
    if not n.history.header.fence_on_acquire or (lost.token or 0) >= (by.token or 0):
        return ()
    return (
        step(
            f"No late write excuses this: in this run a new holder fences before it reads (fence_on_acquire"
            f" in line 1), so once {n.whom(by)} had read with token {by.token}, nothing with the older token"
            f" {lost.token} could still be written."
        ),
    )


def _known(n: Narrator, lost: Op, shown: Op) -> tuple[Step, ...]:
    """Say why the element had certainly been in the list."""
    sent = f"{n.who(lost)} appended {content(lost.element)}{n.with_token(lost)} {n.sent(lost)}"
    if shown is lost:
        return (step(f"{sent}, and the storage said ok {n.answered(lost)}.", lost),)
    found = f"A list that {n.whom(shown)} read had it {n.answered(shown)}"
    return (step(f"{sent}.", lost), step(f"{found}, so it had been stored by then.", shown))


def _built_on(append: Op) -> List:
    """Return the list that an append read; if unreported, the list it wrote without its own element."""
    if append.seen is not None:
        return append.seen
    return append.value[:-1] if isinstance(append.value, tuple) else ()


# because: the lost append, what proves it
READ_WITHOUT = Breach("lost-update", "left-out", _absent)
# because: the lost append, what proves it, the read that lacks it
WRITTEN_WITHOUT = Breach("lost-update", "left-out", _absent)
# because: the lost append, who read what the two wrote
SAME_LIST_READ = Breach("lost-update", "same-list-read", _same_list_read)
# because: the lost append, what proves it
LOGGED_WITHOUT = Breach("lost-update", "logged-without", _logged_without)
