"""The open operations that can matter before a return: prunings 6 to 8 of Algorithm G (see `search`)."""

from __future__ import annotations

import itertools
import sys
from bisect import insort
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.history.operation import Operation
from checkers.models.objects import Model, Reaches
from checkers.models.transitions import Transitions

_WHOLE = None  # the part of an operation on the whole object
_LARGE = 10  # every 2**10 bytes of an answer cost another step


class Open(NamedTuple):
    """An operation that was called and has not returned; in the order of returns."""

    returned: int
    position: int
    place: int  # its bit's place: the bits of n operations would take n²/16 bytes
    steps: Transitions

    @property
    def bit(self) -> int:
        """The bit that is set in the configurations in which it has taken effect."""
        return 1 << self.place


@dataclass(frozen=True, slots=True)
class Group:
    """The open changes of one part of the object or of one owner, and the infos, by kind."""

    changes: dict[int, list[Open]] = field(default_factory=dict)  # each kind by return
    infos: dict[int, Transitions] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.changes) + len(self.infos)

    @property
    def has_several(self) -> bool:
        """Is there more than one operation?"""
        return (
            len(self) > 1
            or any(len(entries) > 1 for entries in self.changes.values())
            or any(len(steps.infos) > 1 for steps in self.infos.values())
        )

    def open(self, entry: Open) -> None:
        """Add a change."""
        insort(self.changes.setdefault(entry.steps.number, []), entry)

    def close(self, entry: Open) -> None:
        """Remove the change that returns first."""
        entries = self.changes[entry.steps.number]
        del entries[0]
        if not entries:
            del self.changes[entry.steps.number]

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, one by one."""
        for entries in self.changes.values():
            yield from (entry.steps.op for entry in entries)
        for steps in self.infos.values():
            yield from itertools.repeat(steps.op, len(steps.infos))


_NONE = Group()


class Goal(NamedTuple):
    """A read of the whole object that can become possible before a return."""

    bit: int
    reaches: Reaches
    cost: int  # steps


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that may take effect before an operation returns: one group after another."""

    goal: Open
    groups: Sequence[Group]
    own: int  # the number of the goal's own group; it is the last
    targets: Sequence[Goal] = ()  # reads that the other groups may make possible
    whole: int = 0  # the bits of the targets
    cost: int = 1  # the steps it took to make the plan

    def is_of_use(self, number: int, state: Hashable, done: int) -> bool:
        """Can a change of this group, or of a later one, help a target?"""
        for bit, reaches, _ in self.targets:  # noqa: SIM110 - `any` of a generator takes twice as long
            if not done & bit and reaches(state, number):
                return True
        return False

    @property
    def cost_of_use(self) -> int:
        """The most steps that `is_of_use` takes."""
        return sum(target.cost for target in self.targets)


class Changes:
    """The open changes and the infos: all, and by part of the object or by owner."""

    def __init__(self, model: Model) -> None:
        self._part = getattr(model, "part", None)
        self._owner = getattr(model, "owner", None)
        self._label = self._part or self._owner or (lambda _: None)
        self._reach = getattr(model, "reach", None)
        self._all = Group()
        self._groups: dict[Hashable, Group] = {}
        self._several: dict[Hashable, Group] = {}  # groups with more than one operation
        self._hopeless: set[int] = set()  # positions of reads that no open changes can reach

    def open(self, entry: Open) -> None:
        """Add a change that was called."""
        self._all.open(entry)
        self._group(entry.steps).open(entry)
        self._count(entry.steps)
        self._hopeless.clear()

    def presume(self, steps: Transitions, place: int) -> None:
        """Add an info, with the place of its bit."""
        steps.infos.append(place)
        for group in (self._all, self._group(steps)):
            group.infos[steps.number] = steps
        self._count(steps)
        self._hopeless.clear()

    def close(self, entry: Open) -> None:
        """Remove the change that returns first."""
        self._all.close(entry)
        self._group(entry.steps).close(entry)
        self._count(entry.steps)

    def __iter__(self) -> Iterator[Open]:
        return itertools.chain.from_iterable(self._all.changes.values())

    def of(self, owner: Hashable) -> Group:
        """Return the group of an owner."""
        return self._groups.get(owner, _NONE)

    def plan(self, goal: Open, reads: Iterable[Open], states: Collection[Hashable]) -> Plan:
        """Plan what may take effect before `goal` returns, in the `states` of the configurations.

        `reads` are open, `goal` included if it is one, and not done in all configurations.
        """
        if self._owner is not None:
            own = self._owner(goal.steps.op)
            return Plan(goal, (_merged({**self._several, own: self.of(own)}.values()),), own=0)
        if self._part is None or _WHOLE in self._groups:
            return Plan(goal, (self._all,), own=0)
        part = self._part(goal.steps.op)
        in_question = (read for read in reads if read.position not in self._hopeless)
        whole = [read for read in in_question if self._part(read.steps.op) is _WHOLE]
        others = [group for other, group in self._groups.items() if other != part] if whole else []
        groups = [*others, self.of(part)]
        targets = [target for read in whole if (target := self._target(read, groups, states))]
        cost = 1 + len(whole) * sum(map(len, groups))
        return Plan(goal, groups, len(others), targets, sum(target.bit for target in targets), cost)

    def _group(self, steps: Transitions) -> Group:
        return self._groups.setdefault(self._label(steps.op), Group())

    def _count(self, steps: Transitions) -> None:
        label = self._label(steps.op)
        group = self._groups[label]
        if not group:
            del self._groups[label]
        if group.has_several:
            self._several[label] = group
        else:
            self._several.pop(label, None)

    def _target(self, read: Open, groups: Sequence[Group], states: Collection[Hashable]) -> Goal | None:
        op = read.steps.op
        if self._reach is None:
            return Goal(read.bit, lambda _, __: True, 0)
        reaches = self._reach(op, [list(group.operations()) for group in groups])
        if not any(reaches(state, 0) for state in states):
            self._hopeless.add(read.position)
            return None
        return Goal(read.bit, reaches, 1 + (sys.getsizeof(op.output) >> _LARGE))


def _merged(groups: Iterable[Group]) -> Group:
    merged = Group()
    for group in groups:
        merged.changes.update(group.changes)
        merged.infos.update(group.infos)
    return merged
