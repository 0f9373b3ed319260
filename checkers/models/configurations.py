"""The configurations of one object, from return to return: the core of Algorithm G (see `search`)."""

from __future__ import annotations

import functools
import heapq
import operator
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from checkers.history.operation import Operation
from checkers.history.records import Outcome
from checkers.models.budget import EXAMINED, KEPT, RIVAL, States, of_numbers
from checkers.models.model_verdict import DEAD_ENDS_SHOWN, Configuration, DeadEnd
from checkers.models.objects import IMPOSSIBLE, Model
from checkers.models.relevance import Changes, Open, Plan
from checkers.models.transitions import Transitions, initial_state
from checkers.text.errors import ModelError

_NOTHING: Final = object()  # no state at all; None can be a state
_FAIL: Final = Outcome.FAIL  # looking up an attribute of an enum takes longer than the comparison
_INFO: Final = Outcome.INFO
_EXAMINE: Final = 4  # steps of a configuration, besides one for each operation that may be next
_FOLLOW: Final = 2  # steps of each configuration that follows
_LARGE: Final = 10  # every 2**10 bits of a number cost another step
Node = tuple[Hashable, int, int]
"""A configuration: state, bits of the open operations done, bits of the infos used."""

_Step = tuple[Hashable, int, int, int, Hashable]
"""A configuration, the first group that may still have its turn (pruning 7), and the state before an
info that nothing has observed yet, or _NOTHING (pruning 5)."""

_Nodes = dict[Node, None]  # an insertion-ordered set: the same steps in every process
_Seen = dict[tuple[Hashable, int], list[tuple[int, int, int]]]
"""The examined configurations: (state, changes done) → reads done, infos used, first group."""


class Configurations:
    """All configurations that explain the returns so far."""

    def __init__(
        self, operations: Sequence[Operation], model: Model, *, limit: int, steps: int, widest: int
    ) -> None:
        self.explored = 0
        self.is_partial = False  # were configurations dropped because there were more than `widest`?
        self.returning = -1  # the operation whose return is being explained
        self._widest = widest
        self._operations = operations
        self._model = model
        self._is_read = getattr(model, "is_read", None) or (lambda _: False)
        self._kind = getattr(model, "kind", None) or id
        self._holder = getattr(model, "holder", None) or (lambda _: None)
        self._states = States(limit=limit, steps=steps)
        self._read_steps: dict[Hashable, Transitions] = {}  # by kind
        self._change_steps: dict[Hashable, Transitions] = {}
        self._nodes: _Nodes = {(initial_state(model), 0, 0): None}
        self._returns: list[Open] = []  # a heap of future returns
        self._reads: dict[int, Open] = {}  # open ones, by place
        self._read_by_all: list[tuple[int, int]] = []  # possible in every configuration
        self._changes = Changes(model)
        self._info_positions: list[int] = []  # by bit
        self._taken = 0  # bits of open operations
        self._change_bits = 0
        self._cost_of_use = 0
        self._info_cost = 1

    def run(self, positions: Iterable[int]) -> DeadEnd | None:
        """Walk up to the first return that nothing explains; OutOfBudgetError if the budget ends before."""
        for leaving in self._walk(positions):
            self.returning = leaving.position
            self._states.spend(len(self._nodes))
            survivors = self._survivors(leaving)
            if not survivors:
                return self._dead_end(leaving)
            self._nodes = survivors
            self._close(leaving)
            self._states.configurations = sum(KEPT + of_numbers(done, used) for _, done, used in survivors)
            if self._states.is_crowded:
                self._forget_steps()
        return None

    @property
    def steps_left(self) -> int:
        """The steps left."""
        return max(self._states.steps, 0)

    def _forget_steps(self) -> None:
        """Forget computed steps of the model, which can be computed again."""
        for steps in (*self._read_steps.values(), *self._change_steps.values()):
            steps.clear()
        self._states.clear()
        self._nodes = {(self._states[state], done, used): None for state, done, used in self._nodes}
        self._states.spend(len(self._nodes) + len(self._read_steps) + len(self._change_steps))

    def _walk(self, positions: Iterable[int]) -> Iterator[Open]:
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
                self._changes.presume(self._steps_of(op, reads=False), len(self._info_positions))
                self._info_positions.append(position)
                self._info_cost = 1 + (len(self._info_positions) >> _LARGE)
            return
        if op.returned is None:
            raise ModelError(f"{op} has an answer but no return; without one its outcome is info")
        steps = self._steps_of(op, reads=reads)
        if reads and self._all_match(steps):
            self._read_by_all.append((op.returned, position))
            return
        bit = ~self._taken & (self._taken + 1)  # the lowest free bit
        entry = Open(op.returned, position, bit.bit_length() - 1, steps)
        self._taken |= bit
        heapq.heappush(self._returns, entry)
        if reads:
            self._reads[entry.place] = entry
            self._nodes = {
                (state, done if steps[state] is IMPOSSIBLE else done | bit, used): None
                for state, done, used in self._nodes
            }
        else:
            self._change_bits |= bit
            self._changes.open(entry)

    def _all_match(self, steps: Transitions) -> bool:
        self._states.spend(len(self._nodes))
        for state, _, _ in self._nodes:  # noqa: SIM110 - `all` of a generator takes twice as long
            if steps[state] is IMPOSSIBLE:
                return False
        return True

    def _steps_of(self, op: Operation, *, reads: bool) -> Transitions:
        known = self._read_steps if reads else self._change_steps
        kind = self._kind(op)
        steps = known.get(kind)
        if steps is None:
            steps = known[kind] = Transitions(self._model, op, len(known), self._states, reads=reads)
        return steps

    def _close(self, leaving: Open) -> None:
        self._taken ^= leaving.bit
        if self._reads.pop(leaving.place, None) is None:
            self._change_bits ^= leaving.bit
            self._changes.close(leaving)

    def _survivors(self, leaving: Open) -> _Nodes:
        """Return the configurations in which `leaving` has taken effect, without it."""
        bit = leaving.bit
        survivors = {(state, done ^ bit, used): None for state, done, used in self._nodes if done & bit}
        if len(survivors) == len(self._nodes):
            return survivors
        plan = self._plan(leaving)
        self._cost_of_use = plan.cost_of_use
        seen: _Seen = {}
        for node in self._nodes:
            if len(survivors) >= self._widest:
                self.is_partial = True
                break
            if not node[1] & bit:
                self._explore(node, plan, survivors, seen)
        return survivors if len(survivors) == 1 else self._undominated(survivors)

    def _plan(self, leaving: Open) -> Plan:
        done_in_all = functools.reduce(operator.and_, (done for _, done, _ in self._nodes))
        reads = [read for place, read in self._reads.items() if not done_in_all >> place & 1]
        states = {state for state, _, _ in self._nodes}
        self._states.spend(len(self._nodes) * (1 + len(reads)))
        plan = self._changes.plan(leaving, reads, states)
        self._states.spend(plan.cost)
        return plan

    def _explore(self, start: Node, plan: Plan, found: _Nodes, seen: _Seen) -> None:
        """Add to `found` every configuration reachable from `start` in which the goal has taken effect."""
        goal = plan.goal.bit
        stack = [self._next(plan, *start, 0, _NOTHING)]
        while stack:
            if len(found) >= self._widest:
                self.is_partial = True
                return
            for after, done, used, turn, unseen in stack[-1]:
                self._states.spend(_FOLLOW)
                if done & goal:
                    found[after, done ^ goal, used] = None
                    self._states.hold(KEPT + of_numbers(done, used))
                elif not self._covered(seen, after, done, used, turn, plan.whole):
                    stack.append(self._next(plan, after, done, used, turn, unseen))
                    break
            else:
                stack.pop()

    def _next(
        self, plan: Plan, state: Hashable, done: int, used: int, turn: int, before: Hashable
    ) -> Iterator[_Step]:
        """Yield the configurations one change further.

        `before` is the state before an info that nothing has observed yet, or _NOTHING: only
        changes whose result differs from there are of use.
        """
        self.explored += 1
        self._states.spend(_EXAMINE)
        tried = set()
        reads = self._reads
        goal = plan.goal
        if goal.place not in reads:
            tried.add(goal.steps.number)
            after = goal.steps[state]
            if after is not IMPOSSIBLE and (before is _NOTHING or goal.steps[before] != after):
                yield after, self._with_reads(after, done | goal.bit), used, turn, _NOTHING
        holder = self._holder(state)
        for number in self._turns(plan, state, done, turn):
            group = plan.groups[number] if holder is None else self._changes.of(holder)
            tries = 0
            for kind, entries in group.changes.items():
                tries += 1
                bit = self._first_to_do(entries, done)
                if not bit or kind in tried:
                    continue
                tried.add(kind)
                steps = entries[0].steps
                after = steps[state]
                if after is not IMPOSSIBLE and (before is _NOTHING or steps[before] != after):
                    self._states.spend(tries)
                    tries = 0
                    now_done = self._with_reads(after, done | bit) if reads else done | bit
                    then = 0 if (now_done & ~done) & plan.whole else number
                    yield after, now_done, used, then, _NOTHING
            for steps in group.infos.values():
                tries += self._info_cost
                after = steps[state]
                if after is IMPOSSIBLE or after == state or steps.number in tried:
                    continue
                unused = steps.unused(used)
                if unused and (before is _NOTHING or steps[before] != after):
                    self._states.spend(tries)
                    tries = 0
                    now_done = self._with_reads(after, done) if reads else done
                    unseen = state if now_done == done else _NOTHING
                    then = 0 if (now_done & ~done) & plan.whole else number
                    yield after, now_done, used | unused, then, unseen
            self._states.spend(tries)

    def _first_to_do(self, entries: Sequence[Open], done: int) -> int:
        """Return the bit of the first to return among those that have not taken effect; 0 if all have."""
        for tries, (_, _, place, _) in enumerate(entries):
            if not done >> place & 1:
                self._states.spend(tries)
                return 1 << place
        return 0

    def _turns(self, plan: Plan, state: Hashable, done: int, turn: int) -> Iterator[int]:
        """Yield the groups whose operations may be next."""
        for number in range(turn, plan.own):
            self._states.spend(self._cost_of_use)
            if not plan.is_of_use(number, state, done):
                break
            yield number
        yield plan.own

    def _with_reads(self, state: Hashable, done: int) -> int:
        self._states.spend(len(self._reads))
        for _, _, place, steps in self._reads.values():
            if not done >> place & 1 and steps[state] is not IMPOSSIBLE:
                done |= 1 << place
        return done

    def _covered(
        self, seen: _Seen, state: Hashable, done: int, used: int, turn: int = 0, whole: int = 0
    ) -> bool:
        """Does an examined configuration cover this one? If not, remember this one."""
        reads = done & ~(self._change_bits | whole)
        key = (state, done ^ reads)
        rivals = seen.get(key)
        if rivals is None:
            seen[key] = [(reads, used, turn)]
            self._states.hold(EXAMINED + of_numbers(done, used))
            return False
        self._states.spend(len(rivals))
        for other_reads, other_used, other_turn in rivals:
            if not (reads & ~other_reads or other_used & ~used or other_turn > turn):
                return True
        rivals.append((reads, used, turn))
        self._states.hold(RIVAL + of_numbers(done, used))
        return False

    def _undominated(self, nodes: _Nodes) -> _Nodes:
        """Return the configurations that no other covers."""
        changes = self._change_bits
        rivals: dict[tuple[Hashable, int], list[Node]] = {}
        for node in nodes:
            rivals.setdefault((node[0], node[1] & changes), []).append(node)
        if len(rivals) == len(nodes):
            return nodes
        seen: _Seen = {}
        return {
            node: None
            for group in rivals.values()
            for node in sorted(group, key=lambda node: node[2].bit_count() - node[1].bit_count())
            if not self._covered(seen, *node)
        }

    def _dead_end(self, leaving: Open) -> DeadEnd:
        """Return a few configurations, the simplest first."""
        entries = [*self._reads.values(), *self._changes]
        read = [position for returned, position in self._read_by_all if returned >= leaving.returned]
        return DeadEnd(
            operation=leaving.position,
            configurations=tuple(
                Configuration(
                    state=state,
                    ahead=tuple(sorted([*read, *(entry.position for entry in entries if done & entry.bit)])),
                    presumed=tuple(each for bit, each in enumerate(self._info_positions) if used >> bit & 1),
                )
                for state, done, used in sorted(self._nodes, key=_fewer_infos_first)[:DEAD_ENDS_SHOWN]
            ),
        )


def _fewer_infos_first(node: Node) -> tuple[int, int, int, str]:
    state, done, used = node
    return used.bit_count(), done, used, repr(state)  # states may have no order, and sets have none
