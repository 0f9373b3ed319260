"""A finding in words: its summary, its story, the steps of its proof, and its cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from checkers.history.faults import Fault
from checkers.history.records import Op
from checkers.text.printable import content
from checkers.vocabulary.fault_kinds import part_of_run
from checkers.vocabulary.verdict import ProofStep

_AT_ONCE = {"kill": "was killed", "restart": "was restarted", "failover": "failed over"}


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
    sentences: tuple[str, ...] = ()  # at most three plain ones, in time order; empty ones are left out
    proof: tuple[Op, ...] = ()  # its evidence besides the operations of the conflict
    others: Iterable[Op] = ()  # might seem to change it, and do not: checked if few
    cause: Cause | None = None


def as_read(read: Op) -> str:
    """Name a value and its token; an unwritten resource may have one below all tokens."""
    has_token = read.token is not None and read.token >= 0
    return f"{content(read.value)} with token {read.token}" if has_token else content(read.value)


def lock_on(resource: str) -> str:
    """Name the lock of a resource; the only one of a history that names none is `lock` itself."""
    return "the lock" if resource == "lock" else f"the lock on {resource}"


def times(number: int) -> str:
    """Say how often something happened, if more than once."""
    return "twice" if number == 2 else f"{number} times"  # noqa: PLR2004 - a word of its own


def listed(numbers: Iterable[int]) -> str:
    """List places in the storage's own order."""
    return " and ".join(f"number {number}" for number in numbers)


def capitalized(text: str) -> str:
    """Capitalize the first letter of a sentence, and leave the rest as it is."""
    return text[:1].upper() + text[1:]


def restarted(fault: Fault) -> str:
    """Say what a restart of any kind did, or a script that may have restarted it."""
    return f"{part_of_run(fault.target)} {_AT_ONCE.get(fault.kind, fault.words.lasting)}"


def restarts(fault: Fault) -> bool:
    """Did a service go down and come up again? It may have answered before that was seen."""
    return fault.client is None and fault.kind in _AT_ONCE and not fault.left_behind


def clients_left(fault: Fault) -> str:
    """Name the clients that still reached the old primary after a failover; empty if none did."""
    if not fault.left_behind:
        return ""
    *others, last = map(str, fault.left_behind)
    clients = f"clients {', '.join(others)} and {last}" if others else f"client {last}"
    return f"; {clients} still reached the old primary, all others the new one"
