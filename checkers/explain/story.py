"""A finding in words: its summary, its story, the steps of its proof, and its cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from checkers.history.faults import Fault
from checkers.history.records import Op
from checkers.vocabulary.verdict import ProofStep


class InHistory(Protocol):
    """An operation or a fault: anything with lines in the history."""

    @property
    def lines(self) -> Sequence[int]:
        """Its lines."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a proof, with the operations and faults that it is about."""

    text: str
    about: tuple[InHistory, ...] = ()

    def proved(self, text: str | None = None) -> ProofStep:
        """Return the step as in a verdict; with another text, if one is given."""
        return ProofStep(
            text=self.text if text is None else text,
            operations=on_lines(each for each in self.about if not isinstance(each, Fault)),
            faults=on_lines(each for each in self.about if isinstance(each, Fault)),
        )


def on_lines(recorded: Iterable[InHistory]) -> tuple[int, ...]:
    """Return the lines of some operations or faults, in their order."""
    return tuple(sorted({line for each in recorded for line in each.lines}))


def step(text: str, *about: InHistory) -> Step:
    """Make a step about some operations and faults."""
    return Step(text, about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The cause of a finding; *certain* if the history shows the whole chain, else it only fits."""

    certain: bool = False
    fault: Fault | None = None
    operation: Op | None = None  # a late release or renewal that let another owner in


@dataclass(frozen=True, slots=True)
class Story:
    """A conflict in words, and the operations that these rest on.

    It explains the conflict among the operations of its smallest proof alone, and
    looks up everything else in the whole history.
    """

    summary: str
    steps: tuple[Step, ...]
    sentences: tuple[str, ...] = ()  # at most three plain sentences, in time order
    proof: tuple[Op, ...] = ()  # its evidence besides the operations of the conflict
    others: Iterable[Op] = ()  # might seem to change it, and do not: checked if few
    cause: Cause | None = None
