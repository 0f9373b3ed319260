"""The configurations of one object, from return to return: the core of Algorithm G (see `search`)."""

from __future__ import annotations

import enum
import heapq
from bisect import insort
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from checkers.errors import ModelError
from checkers.history.records import Outcome
from checkers.linearizability.model_verdict import DEAD_ENDS_SHOWN, Configuration, DeadEnd
from checkers.linearizability.models import IMPOSSIBLE, Model
from checkers.linearizability.operation import Operation
from checkers.linearizability.transitions import Transitions, initial_state, optional_method


class _Nothing(enum.Enum):
    NOTHING = enum.auto()


_NOTHING: Final = _Nothing.NOTHING  # no state at all; None can be a state

_FAIL: Final = Outcome.FAIL  # an attribute of an enum takes longer than the comparison
_INFO: Final = Outcome.INFO

_Node = tuple[Hashable, int, int]
"""A configuration: state, bits of the open operations done, bits of the infos used."""

_Step = tuple[Hashable, int, int, Hashable]
"""A configuration, and the state before an info that nothing has observed yet, or _NOTHING."""

_Seen = dict[tuple[Hashable, int], list[tuple[int, int]]]
"""The examined configurations: (state, changes done) → reads done and infos used."""


class OutOfBudgetError(Exception):
    """The search has examined as many configurations as it may."""

    def __init__(self, operation: int) -> None:
        self.operation = operation


class _Open(NamedTuple):
    """An operation that was called and has not returned; in the order of returns."""

    returned: int
    position: int
    bit: int
    steps: Transitions


class Configurations:
    """All configurations that explain the returns so far."""

    def __init__(self, operations: Sequence[Operation], model: Model, budget: int) -> None:
        self.budget = budget
        self._operations = operations
        self._model = model
        self._is_read = optional_method(model, "is_read") or _never
        self._kind = optional_method(model, "kind") or id
        self._read_steps: dict[Hashable, Transitions] = {}  # by kind
        self._change_steps: dict[Hashable, Transitions] = {}
        self._nodes: set[_Node] = {(initial_state(model), 0, 0)}
        self._returns: list[_Open] = []  # a heap of those to come
        self._reads: dict[int, _Open] = {}  # open ones, by bit
        self._read_by_all: list[tuple[int, int]] = []  # possible in every configuration
        self._changes: list[_Open] = []  # open ones, by return
        self._infos: list[Transitions] = []  # the kinds that have infos
        self._info_positions: list[int] = []  # by bit
        self._taken = 0  # bits of open operations
        self._change_bits = 0

    def run(self, positions: Iterable[int]) -> DeadEnd | None:
        """Walk through the history, up to the first return that nothing explains.

        Raises:
            OutOfBudgetError: the budget was used up before the end.
        """
        for leaving in self._walk(positions):
            survivors = self._survivors(leaving)
            if not survivors:
                return self._dead_end(leaving)
            self._nodes = survivors
            self._close(leaving)
        return None

    def _walk(self, positions: Iterable[int]) -> Iterator[_Open]:
        """Process the calls, and stop at every return."""
        returns = self._returns
        for position in positions:
            op = self._operations[position]
            while returns and returns[0][0] < op.called:
                yield heapq.heappop(returns)
            self._call(position, op)
        while returns:
            yield heapq.heappop(returns)

    def _call(self, position: int, op: Operation) -> None:
        reads = op.outcome is _FAIL or bool(self._is_read(op))
        if op.outcome is _INFO:
            if not reads:
                self._presume(position, self._steps_of(op, reads=False))
            return
        if op.returned is None:
            raise ModelError(f"{op} has an answer but no return; without one its outcome is info")
        steps = self._steps_of(op, reads=reads)
        if reads and self._all_match(steps):
            self._read_by_all.append((op.returned, position))
            return
        bit = ~self._taken & (self._taken + 1)  # the lowest that is free
        entry = _Open(op.returned, position, bit, steps)
        self._taken |= bit
        heapq.heappush(self._returns, entry)
        if reads:
            self._reads[bit] = entry
            self._read_at_once(bit, entry.steps)
        else:
            self._change_bits |= bit
            insort(self._changes, entry)

    def _all_match(self, steps: Transitions) -> bool:
        for state, _, _ in self._nodes:  # noqa: SIM110 - `all` of a generator takes twice as long
            if steps[state] is IMPOSSIBLE:
                return False
        return True

    def _presume(self, position: int, steps: Transitions) -> None:
        if not steps.infos:
            self._infos.append(steps)
        steps.infos |= 1 << len(self._info_positions)
        self._info_positions.append(position)

    def _read_at_once(self, bit: int, steps: Transitions) -> None:
        self._nodes = {
            (state, done if steps[state] is IMPOSSIBLE else done | bit, used)
            for state, done, used in self._nodes
        }

    def _steps_of(self, op: Operation, *, reads: bool) -> Transitions:
        known = self._read_steps if reads else self._change_steps
        kind = self._kind(op)
        steps = known.get(kind)
        if steps is None:
            steps = known[kind] = Transitions(self._model, op, len(known), reads=reads)
        return steps

    def _close(self, leaving: _Open) -> None:
        self._taken ^= leaving.bit
        if self._reads.pop(leaving.bit, None) is None:
            self._change_bits ^= leaving.bit
            del self._changes[0]  # it is the first to return

    def _survivors(self, leaving: _Open) -> set[_Node]:
        """The configurations in which `leaving` has taken effect, without it."""
        bit = leaving.bit
        survivors = {(state, done ^ bit, used) for state, done, used in self._nodes if done & bit}
        if len(survivors) == len(self._nodes):
            return survivors
        seen: _Seen = {}
        for node in self._nodes:
            if not node[1] & bit:
                self._explore(node, leaving, survivors, seen)
        return survivors if len(survivors) == 1 else self._undominated(survivors)

    def _explore(self, start: _Node, leaving: _Open, found: set[_Node], seen: _Seen) -> None:
        """Add to `found` every configuration reachable from `start` by which `leaving` has taken effect."""
        goal = leaving.bit
        stack: list[_Step] = [(*start, _NOTHING)]
        while stack:
            self.budget -= 1
            if self.budget < 0:
                raise OutOfBudgetError(leaving.position)
            for after, done, used, unseen in self._next(*stack.pop()):
                if done & goal:
                    found.add((after, done ^ goal, used))
                elif not self._covered(seen, after, done, used):
                    stack.append((after, done, used, unseen))

    def _next(self, state: Hashable, done: int, used: int, before: Hashable) -> list[_Step]:
        """The configurations one change further.

        `before` is the state before an info that nothing has observed yet, or _NOTHING: only
        changes with another result than from there are of use.
        """
        following: list[_Step] = []
        tried = set()
        reads = self._reads
        for _, _, bit, steps in self._changes:
            if done & bit or steps.number in tried:
                continue
            tried.add(steps.number)
            after = steps[state]
            if after is not IMPOSSIBLE and (before is _NOTHING or steps[before] != after):
                now_done = self._with_reads(after, done | bit) if reads else done | bit
                following.append((after, now_done, used, _NOTHING))
        for steps in self._infos:
            after = steps[state]
            if after is IMPOSSIBLE or after == state or steps.number in tried:
                continue
            unused = steps.infos & ~used
            if unused and (before is _NOTHING or steps[before] != after):
                now_done = self._with_reads(after, done) if reads else done
                unseen = state if now_done == done else _NOTHING
                following.append((after, now_done, used | (unused & -unused), unseen))
        return following

    def _with_reads(self, state: Hashable, done: int) -> int:
        for _, _, bit, steps in self._reads.values():
            if not done & bit and steps[state] is not IMPOSSIBLE:
                done |= bit
        return done

    def _covered(self, seen: _Seen, state: Hashable, done: int, used: int) -> bool:
        """Does an examined configuration cover this one? Otherwise remember this one."""
        reads = done & ~self._change_bits
        key = (state, done ^ reads)
        rivals = seen.get(key)
        if rivals is None:
            seen[key] = [(reads, used)]
            return False
        for other_reads, other_used in rivals:
            if not (reads & ~other_reads or other_used & ~used):
                return True
        rivals.append((reads, used))
        return False

    def _undominated(self, nodes: set[_Node]) -> set[_Node]:
        """The configurations that no other covers."""
        changes = self._change_bits
        rivals: dict[tuple[Hashable, int], list[_Node]] = {}
        for node in nodes:
            rivals.setdefault((node[0], node[1] & changes), []).append(node)
        if len(rivals) == len(nodes):
            return nodes
        seen: _Seen = {}
        return {
            node
            for group in rivals.values()
            for node in sorted(group, key=_least_covered_first)
            if not self._covered(seen, *node)
        }

    def _dead_end(self, leaving: _Open) -> DeadEnd:
        entries = [*self._reads.values(), *self._changes]
        read = [position for returned, position in self._read_by_all if returned >= leaving.returned]
        simplest = sorted(self._nodes, key=_fewer_infos_first)
        return DeadEnd(
            operation=leaving.position,
            configurations=tuple(
                Configuration(
                    state=state,
                    ahead=tuple(sorted([*read, *(entry.position for entry in entries if done & entry.bit)])),
                    presumed=tuple(
                        position for bit, position in enumerate(self._info_positions) if used >> bit & 1
                    ),
                )
                for state, done, used in simplest[:DEAD_ENDS_SHOWN]
            ),
        )


def _never(_: Operation) -> bool:
    return False


def _fewer_infos_first(node: _Node) -> tuple[int, int, int, str]:
    state, done, used = node
    return used.bit_count(), done, used, repr(state)  # states may have no order, and a set has none


def _least_covered_first(node: _Node) -> int:
    _, done, used = node
    return used.bit_count() - done.bit_count()
