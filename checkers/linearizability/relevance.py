"""Which open operations can matter before a return: prunings 6 to 8 of Algorithm G (see `search`)."""

from __future__ import annotations

import sys
from bisect import insort
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.linearizability.models import Model, Reaches
from checkers.linearizability.operation import Operation
from checkers.linearizability.transitions import Transitions, optional_method

_WHOLE = None  # the part of an operation that concerns all of the object
_LARGE = 10  # an answer of so many bytes, as a power of two, takes another step


class Open(NamedTuple):
    """An operation that was called and has not returned; in the order of returns."""

    returned: int
    position: int
    bit: int
    steps: Transitions


@dataclass(frozen=True, slots=True)
class Group:
    """The open changes of one part of the object, and its infos."""

    changes: list[Open] = field(default_factory=list)  # by return
    infos: list[Transitions] = field(default_factory=list)  # each kind that has any

    def __len__(self) -> int:
        return len(self.changes) + len(self.infos)

    def operations(self) -> Iterator[Operation]:
        """All of them, one by one."""
        for entry in self.changes:
            yield entry.steps.op
        for steps in self.infos:
            for _ in range(steps.infos.bit_count()):
                yield steps.op


class Target(NamedTuple):
    """A read of the whole object that can become possible before a return."""

    bit: int
    reaches: Reaches
    cost: int  # steps


@dataclass(frozen=True, slots=True)
class Plan:
    """What may take effect before an operation that is about to return: one group after another."""

    goal: Open
    groups: Sequence[Group]
    own: int  # the number of the group that matters to the goal itself; it is the last
    targets: Sequence[Target] = ()  # what the other groups can be for
    whole: int = 0  # the bits of the targets

    def is_of_use(self, number: int, state: Hashable, done: int) -> bool:
        """Can a change of this group, or of a later one, help a target?"""
        for bit, reaches, _ in self.targets:  # noqa: SIM110 - `any` of a generator takes twice as long
            if not done & bit and reaches(state, number):
                return True
        return False

    @property
    def cost(self) -> int:
        """The steps that it took to make it."""
        return 1 + len(self.targets) * sum(map(len, self.groups))

    @property
    def cost_of_use(self) -> int:
        """The steps that `is_of_use` takes at most."""
        return sum(target.cost for target in self.targets)


class Changes:
    """The open changes and the infos, by the part of the object that they concern."""

    def __init__(self, model: Model) -> None:
        self._part = optional_method(model, "part")
        self._reach = optional_method(model, "reach")
        self._groups: dict[Hashable, Group] = {}

    def open(self, entry: Open) -> None:
        """Add a change that was called."""
        insort(self._group(entry.steps.op).changes, entry)

    def presume(self, steps: Transitions) -> None:
        """Add a kind of infos."""
        self._group(steps.op).infos.append(steps)

    def close(self, entry: Open) -> None:
        """Remove the change that returns first."""
        part = self._part_of(entry.steps.op)
        group = self._groups[part]
        del group.changes[0]
        if not group:
            del self._groups[part]

    def __iter__(self) -> Iterator[Open]:
        for group in self._groups.values():
            yield from group.changes

    def plan(self, goal: Open, reads: Iterable[Open], states: Collection[Hashable]) -> Plan:
        """What may take effect before `goal` returns.

        Args:
            goal: the operation that is about to return.
            reads: those that are open, with `goal` if that is one, and not done in all configurations.
            states: of the configurations.
        """
        part = self._part_of(goal.steps.op)
        if self._part is None or _WHOLE in self._groups:
            return Plan(goal, (_all(self._groups.values()),), own=0)
        whole = [read for read in reads if self._part_of(read.steps.op) is _WHOLE]
        own = self._groups.get(part)
        others = [group for other, group in self._groups.items() if other != part] if whole else []
        groups = [*others, own or Group()]
        targets = [target for read in whole if (target := self._target(read, groups, states))]
        return Plan(goal, groups, len(others), targets, sum(target.bit for target in targets))

    def _group(self, op: Operation) -> Group:
        return self._groups.setdefault(self._part_of(op), Group())

    def _part_of(self, op: Operation) -> Hashable:
        return _WHOLE if self._part is None else self._part(op)

    def _target(self, read: Open, groups: Sequence[Group], states: Collection[Hashable]) -> Target | None:
        op = read.steps.op
        if self._reach is None:
            return Target(read.bit, _always, 0)
        reaches = self._reach(op, [list(group.operations()) for group in groups])
        if not any(reaches(state, 0) for state in states):
            return None
        return Target(read.bit, reaches, 1 + (sys.getsizeof(op.output) >> _LARGE))


def _all(groups: Iterable[Group]) -> Group:
    found = Group()
    for group in groups:
        found.changes.extend(group.changes)
        found.infos.extend(group.infos)
    found.changes.sort()
    return found


def _always(_: Hashable, __: int) -> bool:
    return True
