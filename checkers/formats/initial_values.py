"""The value that an object starts with, as `--initial` gives it, and as a write before all others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from checkers.formats.event import Call
from checkers.formats.operations import with_article
from checkers.formats.values import frozen
from checkers.history.records import Outcome
from checkers.text.errors import ModelError

HAS_INITIAL = "the header of a Fencepost history has its initial value: drop --initial"


def start_of(model: str, value: object) -> Hashable:
    """A value of JSON, as one that an object can have.

    Raises:
        ModelError: an object of `model` cannot start with that.
    """
    try:
        return frozen(value)
    except ValueError as error:
        raise ModelError(f"{with_article(model)} cannot start with that: {error}") from None


def first_writes(
    value: Hashable, keys: Iterable[Hashable], others: Iterable[int], time: int | None = None
) -> Iterator[Call]:
    """The value that registers start with, as a write before all others, by a process other than `others`."""
    objects = list(keys)
    stranger = 1 + max(others, default=0)
    for place, key in enumerate(objects, start=-len(objects)):
        yield Call(
            process=stranger,
            f="write",
            asked=value,
            outcome=Outcome.OK,
            key=key,
            called=2 * place,
            completed=2 * place + 1,
            times=(time, time),
            lines=(1, 1),
        )
