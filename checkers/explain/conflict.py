"""Conflicts, and the checkers that find them: the broken rule, the accused operation, and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from checkers.explain.narrator import Narrator
from checkers.explain.story import Story
from checkers.facts.evidence import Evidence
from checkers.history.records import Op
from checkers.vocabulary.verdict import Evidence as Kind


@dataclass(frozen=True, slots=True)
class Checker:
    """Judges evidence: no I/O, no clock, no randomness, so a stored run can be judged again."""

    name: str
    evidence: Kind
    check: Callable[[Evidence], Iterable[Conflict]]
    anomalies: tuple[str, ...] = ()  # that it looks for; if none are named, the one of its name
    compares_only: bool = False  # does it ask only how times and tokens compare, and which values are equal?

    @property
    def decides(self) -> tuple[str, ...]:
        """The anomalies that it looks for."""
        return self.anomalies or (self.name,)


@dataclass(frozen=True, slots=True, eq=False)
class Breach:
    """A way to break a rule, and how a report explains it; the file of the rule defines it."""

    anomaly: str
    rule: str  # its name, for other programs: it outlives every change of the sentences
    story: Callable[[Narrator, Conflict], Story]
    needs: Callable[[Narrator, Conflict], Iterable[Op]] | None = None  # for a proof of no other breach
    chain: Callable[[Evidence], Sequence[Op]] | None = None  # of some operations: see `proof`
    is_pair: bool = False  # of two operations, whose order a smaller proof may not show

    def conflict(
        self,
        accused: Op,
        *because: Op | None,
        anomaly: str | None = None,
        cause: Conflict | None = None,
        counted: bool = False,
    ) -> Conflict:
        """Return this breach by an operation, because of others; `anomaly` overrides the usual name."""
        shown = tuple(op for op in because if op is not None)
        return Conflict(anomaly or self.anomaly, self, accused, shown, cause=cause, counted=counted)


def each_once(accused: Op, *operations: Op | None) -> Iterator[Op]:
    """Yield the operations without the accused and without repetitions."""
    return (op for op in dict.fromkeys(operations) if op is not None and op != accused)


@dataclass(frozen=True, slots=True)
class Conflict:
    """One event that the rules do not allow."""

    anomaly: str
    breach: Breach
    accused: Op
    because: tuple[Op, ...] = ()  # the comment at each breach says which operations these are
    proof: tuple[Op, ...] = ()  # the smallest set that is wrong by itself, once searched for
    cause: Conflict | None = None  # an earlier one on the same resource, without which this would not be
    counted: bool = False  # not a violation, although others of this name are

    def story(self, n: Narrator) -> Story:
        """Return its story, in which different moments read differently."""
        return n.with_distinct_times(lambda: self.breach.story(n, self))


def firsts(conflicts: Iterable[Conflict]) -> Iterable[Conflict]:
    """Return the first of several conflicts of one name that accuse one operation: it is one event."""
    events: dict[tuple[str, int], Conflict] = {}
    for conflict in conflicts:
        events.setdefault((conflict.anomaly, conflict.accused.index), conflict)
    return events.values()
