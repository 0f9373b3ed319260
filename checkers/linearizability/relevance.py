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


_NONE = Group()


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
    """The open changes and the infos: all of them, and those of each part of the object or each owner."""

    def __init__(self, model: Model) -> None:
        self._part = optional_method(model, "part")
        self._owner = optional_method(model, "owner")
        self._label = self._part or self._owner or _no_label
        self._reach = optional_method(model, "reach")
        self._all = Group()
        self._groups: dict[Hashable, Group] = {}
        self._several: dict[Hashable, Group] = {}  # those with more than one operation

    def open(self, entry: Open) -> None:
        """Add a change that was called."""
        insort(self._all.changes, entry)
        insort(self._group(entry.steps).changes, entry)
        self._count(entry.steps)

    def presume(self, steps: Transitions, bit: int) -> None:
        """Add an info."""
        if not steps.infos:
            self._all.infos.append(steps)
            self._group(steps).infos.append(steps)
        steps.infos |= bit
        self._count(steps)

    def close(self, entry: Open) -> None:
        """Remove the change that returns first."""
        del self._all.changes[0]
        del self._group(entry.steps).changes[0]
        self._count(entry.steps)

    def __iter__(self) -> Iterator[Open]:
        return iter(self._all.changes)

    def of(self, owner: Hashable) -> Group:
        """Those of an owner."""
        return self._groups.get(owner, _NONE)

    def plan(self, goal: Open, reads: Iterable[Open], states: Collection[Hashable]) -> Plan:
        """What may take effect before `goal` returns.

        Args:
            goal: the operation that is about to return.
            reads: those that are open, with `goal` if that is one, and not done in all configurations.
            states: of the configurations.
        """
        if self._owner is not None:
            own = self._owner(goal.steps.op)
            return Plan(goal, (_merged({**self._several, own: self.of(own)}.values()),), own=0)
        if self._part is None or _WHOLE in self._groups:
            return Plan(goal, (self._all,), own=0)
        part = self._part(goal.steps.op)
        whole = [read for read in reads if self._part(read.steps.op) is _WHOLE]
        others = [group for other, group in self._groups.items() if other != part] if whole else []
        groups = [*others, self.of(part)]
        targets = [target for read in whole if (target := self._target(read, groups, states))]
        return Plan(goal, groups, len(others), targets, sum(target.bit for target in targets))

    def _group(self, steps: Transitions) -> Group:
        return self._groups.setdefault(self._label(steps.op), Group())

    def _count(self, steps: Transitions) -> None:
        label = self._label(steps.op)
        group = self._groups[label]
        if not group:
            del self._groups[label]
        if len(group) > 1 or any(kind.infos.bit_count() > 1 for kind in group.infos):
            self._several[label] = group
        else:
            self._several.pop(label, None)

    def _target(self, read: Open, groups: Sequence[Group], states: Collection[Hashable]) -> Target | None:
        op = read.steps.op
        if self._reach is None:
            return Target(read.bit, _always, 0)
        reaches = self._reach(op, [list(group.operations()) for group in groups])
        if not any(reaches(state, 0) for state in states):
            return None
        return Target(read.bit, reaches, 1 + (sys.getsizeof(op.output) >> _LARGE))


def _merged(groups: Iterable[Group]) -> Group:
    every = tuple(groups)
    return Group(
        [change for group in every for change in group.changes],
        [steps for group in every for steps in group.infos],
    )


def _no_label(_: Operation) -> None:
    return None


def _always(_: Hashable, __: int) -> bool:
    return True
