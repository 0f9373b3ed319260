"""Algorithm G: search for an order of the operations that a model allows.

It decides any model, repeated values included, and takes exponential time at worst.

**The search** is just-in-time linearization (Lowe, "Testing for
linearizability", 2017). Walk through the calls and returns by time; at equal
times calls come first, because intervals are closed. Keep the set of all
*configurations*: the state of the object, the open operations that took effect
already, and the infos that were taken to have had their effect. An operation has
to have taken effect when it returns, and not before: so only a return makes the
search go on, from each configuration in which the returning operation has not
taken effect yet, through every sequence of open operations that ends with it.
When no configuration is left, no order explains this return. Configurations are
kept once (they are hashed), and steps of the model are remembered.

**Five prunings** leave out configurations that are not needed. Each rests on this:
if the rest of the history can be explained from the configuration left out, it can
also be explained from one that is kept.

1. *Reads at once.* An open operation that never changes the state and matches it
   takes effect immediately: whatever explained the rest still does, with the read
   taken out of it. Needs: its step is the same state or IMPOSSIBLE from every state.
   True of failures by their definition, of others if the model says so (`Reads`); an
   answer of the model that breaks it raises `ModelError`.
2. *Infos are counted.* Of several infos of one kind it matters how many took effect,
   not which: none of them ever returns, so each can stand wherever another that was
   called before did. Needs: one step for all of one kind (`Kinds`); without it each
   info is a kind of its own. An info that is a read says nothing and is left out.
3. *Fewer infos are better.* Of two configurations with the same state and the same
   open changes done, the one whose infos are a subset of the other's, and whose reads
   done are a superset, can do whatever the other can. Needs nothing.
4. *One kind, one order.* Of open operations of one kind the one that returns first
   goes first, and the infos last: wherever two took effect the other way round, they
   can be exchanged, since both had been called by then, and the one that moves
   forward returns later, or never. Needs: as 2.
5. *An info is used only for what comes next.* An info that leads from state s to s' is
   of no use if the next change leads from s' where it leads from s as well, and no read
   that was not possible in s comes between: then the same order without the info does.
   Needs nothing: both steps are compared, so a cas(a→a), which changes nothing, and one
   that follows a write of a, which it needs, both come out right. It is not enough to
   ask whether the next operation is a cas or a read of what the info wrote.

**Keys.** Objects that do not affect each other are judged one by one (`Keys`): a
history is linearizable iff that of each object is (Herlihy and Wing, 1990).
"""

from __future__ import annotations

import enum
import heapq
from collections.abc import Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from checkers.errors import FencepostError
from checkers.judgement import DEAD_ENDS_SHOWN, Configuration, DeadEnd, Judgement
from checkers.models import IMPOSSIBLE, Keys, Kinds, Model, Reads
from checkers.operation import Operation
from checkers.records import Outcome
from checkers.verdict import Validity

BUDGET = 1_000_000
"""How many configurations of one object are looked at before the search gives up: some seconds."""


class ModelError(FencepostError):
    """A model contradicts what it says about itself, or an operation contradicts its outcome."""


class _Nothing(enum.Enum):
    NOTHING = enum.auto()


_NOTHING: Final = _Nothing.NOTHING  # stands for no state at all; None can be a state

_Node = tuple[Hashable, int, int]
"""A configuration: state, bits of the open operations done, bits of the infos used."""


def search(operations: Sequence[Operation], model: Model, budget: int = BUDGET) -> Judgement:
    """Is there an order of `operations`, in any sequence, that `model` allows?

    Raises:
        ModelError: the model is not as it says, or an answer has no return.
    """
    conflicts = []
    reasons = []
    explored = 0
    for positions in _by_key(operations, model):
        one = _Search(operations, model, budget)
        try:
            dead_end = one.run(positions)
        except _OutOfBudgetError as error:
            reasons.append(str(error))
        else:
            if dead_end is not None:
                conflicts.append(dead_end)
        explored += budget - one.budget
    validity = Validity.INVALID if conflicts else Validity.UNKNOWN if reasons else Validity.VALID
    return Judgement(
        validity=validity,
        method="search",
        conflicts=tuple(conflicts),
        reason="; ".join(reasons),
        explored=explored,
    )


class _OutOfBudgetError(Exception):
    """The search has looked at as many configurations as it may."""


def _by_key(operations: Sequence[Operation], model: Model) -> Iterable[list[int]]:
    """The positions of each object's operations, by their calls."""
    positions = list(range(len(operations)))
    called = list(map(attrgetter("called"), operations))
    if any(map(int.__gt__, called, called[1:])):
        positions.sort(key=called.__getitem__)
    if not isinstance(model, Keys):
        return [positions]
    keys = {}
    for position in positions:
        keys.setdefault(model.key(operations[position]), []).append(position)
    return keys.values()


class _Open:
    """An operation that was called and has not returned."""

    __slots__ = ("bit", "kind", "op", "position", "returned", "steps")

    def __init__(self, position: int, op: Operation, kind: int, steps: dict[Hashable, Hashable]) -> None:
        self.position = position
        self.op = op
        self.kind = kind
        self.steps = steps  # state → the state after; shared by all of one kind
        self.returned = op.returned
        self.bit = 0


class _Infos:
    """The infos of one kind that were called so far; they are used in the order of their calls."""

    __slots__ = ("bits", "example")

    def __init__(self, example: _Open) -> None:
        self.example = example
        self.bits = 0


class _Search:
    """The search on one object."""

    def __init__(self, operations: Sequence[Operation], model: Model, budget: int) -> None:
        self.budget = budget
        self._operations = operations
        self._model = model
        self._is_read = model.is_read if isinstance(model, Reads) else _never
        self._kind = model.kind if isinstance(model, Kinds) else None
        self._kinds: dict[Hashable, tuple[int, dict[Hashable, Hashable]]] = {}
        self._nodes: set[_Node] = {(model.initial, 0, 0)}
        self._returns: list[tuple[int, int, _Open]] = []  # a heap of those to come
        self._reads: dict[int, _Open] = {}  # open ones, by bit
        self._changes: list[_Open] = []  # open ones, by return
        self._infos: dict[int, _Infos] = {}  # by kind
        self._info_positions: list[int] = []  # by bit
        self._taken = 0  # bits of open operations
        self._change_bits = 0

    def run(self, positions: Iterable[int]) -> DeadEnd | None:
        """Walk through the history; the return that nothing explains, if there is one.

        Raises:
            _OutOfBudgetError: it took too long.
        """
        for leaving in self._walk(positions):
            survivors = self._survivors(leaving)
            if not survivors:
                return self._dead_end(leaving)
            self._nodes = survivors
            self._close(leaving)
        return None

    def _walk(self, positions: Iterable[int]) -> Iterator[_Open]:
        """Take in the calls, and stop at every return."""
        returns = self._returns
        for position in positions:
            op = self._operations[position]
            while returns and returns[0][0] < op.called:
                yield heapq.heappop(returns)[2]
            self._call(position, op)
        while returns:
            yield heapq.heappop(returns)[2]

    def _call(self, position: int, op: Operation) -> None:
        is_read = op.outcome is Outcome.FAIL or self._is_read(op)
        if op.outcome is Outcome.INFO:
            if not is_read:
                self._presume(self._opened(position, op))
            return
        if op.returned is None:
            raise ModelError(f"operation {position}, {op.f}, ended in {op.outcome.value} and never returned")
        entry = self._opened(position, op)
        entry.bit = ~self._taken & (self._taken + 1)  # the lowest that is free
        self._taken |= entry.bit
        heapq.heappush(self._returns, (op.returned, position, entry))
        if is_read:
            self._reads[entry.bit] = entry
            self._nodes = {
                (state, done | entry.bit if self._matches(entry, state) else done, used)
                for state, done, used in self._nodes
            }
        else:
            self._change_bits |= entry.bit
            self._changes.append(entry)
            self._changes.sort(key=attrgetter("returned"))

    def _presume(self, info: _Open) -> None:
        infos = self._infos.get(info.kind)
        if infos is None:
            infos = self._infos[info.kind] = _Infos(info)
        infos.bits |= 1 << len(self._info_positions)
        self._info_positions.append(info.position)

    def _opened(self, position: int, op: Operation) -> _Open:
        if self._kind is None:
            return _Open(position, op, -1 - position, {})
        kind = self._kind(op)
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = (len(self._kinds), {})
        return _Open(position, op, *known)

    def _close(self, leaving: _Open) -> None:
        self._taken ^= leaving.bit
        if self._reads.pop(leaving.bit, None) is None:
            self._change_bits ^= leaving.bit
            self._changes.remove(leaving)

    def _survivors(self, leaving: _Open) -> set[_Node]:
        """The configurations in which `leaving` has taken effect, without it."""
        bit = leaving.bit
        survivors = {(state, done ^ bit, used) for state, done, used in self._nodes if done & bit}
        if len(survivors) == len(self._nodes):
            return survivors
        seen: dict[tuple[Hashable, int], list[tuple[int, int]]] = {}
        for node in self._nodes:
            if not node[1] & bit:
                self._explore(node, bit, survivors, seen)
        return self._undominated(survivors)

    def _explore(
        self,
        start: _Node,
        goal: int,
        found: set[_Node],
        seen: dict[tuple[Hashable, int], list[tuple[int, int]]],
    ) -> None:
        """Add to `found` all that can follow `start` up to the moment when `goal` takes effect."""
        stack: list[tuple[Hashable, int, int, Hashable]] = [(*start, _NOTHING)]
        while stack:
            state, done, used, before = stack.pop()
            self._spend(goal)
            for after, now_done, now_used, unseen in self._next(state, done, used, before):
                if now_done & goal:
                    found.add((after, now_done ^ goal, now_used))
                elif not self._covered(seen, (after, now_done, now_used)):
                    stack.append((after, now_done, now_used, unseen))

    def _next(
        self, state: Hashable, done: int, used: int, before: Hashable
    ) -> Iterator[tuple[Hashable, int, int, Hashable]]:
        """The configurations one change further, each with the state that an unobserved info left.

        `before` is such a state, or _NOTHING: only what comes out differently from it is of use.
        """
        tried = set()
        for change in self._changes:
            if done & change.bit or change.kind in tried:
                continue
            tried.add(change.kind)
            after = self._step(change, state)
            if after is not IMPOSSIBLE and (before is _NOTHING or self._step(change, before) != after):
                yield after, self._with_reads(after, done | change.bit), used, _NOTHING
        for kind, infos in self._infos.items():
            unused = infos.bits & ~used
            if not unused or kind in tried:
                continue
            after = self._step(infos.example, state)
            if after is IMPOSSIBLE or after == state:
                continue
            if before is _NOTHING or self._step(infos.example, before) != after:
                now_done = self._with_reads(after, done)
                yield after, now_done, used | (unused & -unused), state if now_done == done else _NOTHING

    def _step(self, entry: _Open, state: Hashable) -> Hashable:
        after = entry.steps.get(state, _NOTHING)
        if after is _NOTHING:
            after = entry.steps[state] = self._model.step(state, entry.op)
        return after

    def _with_reads(self, state: Hashable, done: int) -> int:
        for bit, read in self._reads.items():
            if not done & bit and self._matches(read, state):
                done |= bit
        return done

    def _matches(self, read: _Open, state: Hashable) -> bool:
        after = self._step(read, state)
        if after is IMPOSSIBLE:
            return False
        if after != state:
            raise ModelError(
                f"operation {read.position}, {read.op.f}, is a read or a failure, but the model's step"
                f" leads from {state!r} to {after!r}; it must answer the same state or IMPOSSIBLE"
            )
        return True

    def _covered(self, seen: dict[tuple[Hashable, int], list[tuple[int, int]]], node: _Node) -> bool:
        """Was a configuration seen that can do whatever this one can? Else remember this one."""
        state, done, used = node
        reads = done & ~self._change_bits
        rivals = seen.setdefault((state, done & self._change_bits), [])
        for other_reads, other_used in rivals:
            if not (reads & ~other_reads or other_used & ~used):
                return True
        rivals.append((reads, used))
        return False

    def _undominated(self, nodes: set[_Node]) -> set[_Node]:
        """The configurations that no other one covers; the more reads and the fewer infos first."""
        if len(nodes) == 1:
            return nodes
        seen: dict[tuple[Hashable, int], list[tuple[int, int]]] = {}
        ordered = sorted(nodes, key=lambda node: node[2].bit_count() - node[1].bit_count())
        return {node for node in ordered if not self._covered(seen, node)}

    def _spend(self, goal: int) -> None:
        self.budget -= 1
        if self.budget < 0:
            self.budget = 0
            raise _OutOfBudgetError(goal)

    def _dead_end(self, leaving: _Open) -> DeadEnd:
        entries = [*self._reads.values(), *self._changes]
        shown = sorted(self._nodes, key=lambda node: (node[2].bit_count(), node[1], node[2]))[
            :DEAD_ENDS_SHOWN
        ]
        return DeadEnd(
            operation=leaving.position,
            configurations=tuple(
                Configuration(
                    state=state,
                    ahead=tuple(sorted(entry.position for entry in entries if done & entry.bit)),
                    presumed=tuple(
                        position for bit, position in enumerate(self._info_positions) if used >> bit & 1
                    ),
                )
                for state, done, used in shown
            ),
        )


def _never(_: Operation) -> bool:
    return False
