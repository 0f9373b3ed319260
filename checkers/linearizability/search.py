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
from bisect import insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from checkers.errors import ModelError
from checkers.history.records import Outcome
from checkers.linearizability.judgement import DEAD_ENDS_SHOWN, Configuration, DeadEnd, Judgement, joined
from checkers.linearizability.models import IMPOSSIBLE, Model
from checkers.linearizability.operation import Operation, by_key
from checkers.verdict import Validity

BUDGET = 1_000_000
"""How many configurations of one object are looked at before the search gives up: some seconds."""

SHORT = 20_000
"""How many at first, for every object, in case that one of them is wrong: then so is the history."""


class _Nothing(enum.Enum):
    NOTHING = enum.auto()


_NOTHING: Final = _Nothing.NOTHING  # stands for no state at all; None can be a state

_FAIL: Final = Outcome.FAIL  # looking into an enum costs more than the comparison
_INFO: Final = Outcome.INFO

_Node = tuple[Hashable, int, int]
"""A configuration: state, bits of the open operations done, bits of the infos used."""

_Step = tuple[Hashable, int, int, Hashable]
"""A configuration, and the state before an info that nothing has observed yet, or _NOTHING."""

_Seen = dict[tuple[Hashable, int], list[tuple[int, int]]]
"""The configurations that were looked at: (state, changes done) → reads done and infos used."""


def search(operations: Sequence[Operation], model: Model, budget: int = BUDGET) -> Judgement:
    """Is there an order of `operations`, in any sequence, that `model` allows?

    Raises:
        ModelError: the model is not as it says, or an answer has no return, or one before its call.
    """
    objects = by_key(operations, _stated(model, "key"))
    judged = [
        (positions, search_one(operations, positions, model, min(budget, SHORT))) for positions in objects
    ]
    if budget > SHORT and all(one.validity is not Validity.INVALID for _, one in judged):
        return joined(
            search_one(operations, positions, model, budget) if one.validity is Validity.UNKNOWN else one
            for positions, one in judged
        )
    return joined(one for _, one in judged)


def search_one(
    operations: Sequence[Operation], positions: Sequence[int], model: Model, budget: int = BUDGET
) -> Judgement:
    """As `search`, for one object: the operations at `positions`, which stand in the order of calls."""
    one = _Search(operations, model, budget)
    try:
        dead_end = one.run(positions)
    except _OutOfBudgetError as error:
        reason = (
            f"the search looked at {budget:,} configurations and had not explained the return of"
            f" operation {error.operation}"
        )
        return Judgement(
            validity=Validity.UNKNOWN,
            method="search",
            reason=reason,
            unexplained=(error.operation,),
            explored=budget,
        )
    return Judgement(
        validity=Validity.VALID if dead_end is None else Validity.INVALID,
        method="search",
        conflicts=() if dead_end is None else (dead_end,),
        explored=budget - one.budget,
    )


class _OutOfBudgetError(Exception):
    """The search has looked at as many configurations as it may."""

    def __init__(self, operation: int) -> None:
        self.operation = operation


def _stated(model: Model, name: str) -> Callable[[Operation], Hashable] | None:
    """What the model states beyond its steps; `isinstance` of a protocol takes longer than many a search."""
    stated: Callable[[Operation], Hashable] | None = getattr(model, name, None)
    return stated


def _initial(model: Model) -> Hashable:
    """The state before anything happened."""
    if not hasattr(model, "initial"):
        raise ModelError(f"{_named(model)} has no `initial`: the state before anything happened")
    _check_hashable(model, model.initial)
    return model.initial


def _check_hashable(model: Model, state: Hashable) -> None:
    try:
        hash(state)
    except TypeError as error:
        raise ModelError(
            f"{_named(model)} has a state that cannot be compared with others ({error}): {state!r:.80};"
            " make it hashable, such as a tuple or a frozenset"
        ) from None


def _named(model: Model) -> str:
    return f"the model {type(model).__name__}"


class _Steps(dict[Hashable, Hashable]):
    """State → the state after any operation of one kind; asked of the model once, then remembered."""

    __slots__ = ("infos", "model", "number", "op", "reads")

    def __init__(self, model: Model, op: Operation, number: int, *, reads: bool) -> None:
        self.model = model
        self.number = number  # of the kind, among changes or among reads
        self.op = op  # one of the kind
        self.reads = reads
        self.infos = 0  # bits of those that were called so far; they are used in the order of their calls

    def __missing__(self, state: Hashable) -> Hashable:
        after: Hashable = self.model.step(state, self.op)
        if self.reads and after is not IMPOSSIBLE and after != state:
            raise ModelError(
                f"{self.op} is a read or a failure, but the model's step leads from {state!r} to {after!r};"
                " it must answer the same state or IMPOSSIBLE"
            )
        _check_hashable(self.model, after)
        self[state] = after
        return after


class _Open(NamedTuple):
    """An operation that was called and has not returned; in the order of returns."""

    returned: int
    position: int
    bit: int
    steps: _Steps


class _Search:
    """The search on one object."""

    def __init__(self, operations: Sequence[Operation], model: Model, budget: int) -> None:
        self.budget = budget
        self._operations = operations
        self._model = model
        self._is_read = _stated(model, "is_read") or _never
        self._kind = _stated(model, "kind") or id
        self._read_steps: dict[Hashable, _Steps] = {}  # by kind
        self._change_steps: dict[Hashable, _Steps] = {}
        self._nodes: set[_Node] = {(_initial(model), 0, 0)}
        self._returns: list[_Open] = []  # a heap of those to come
        self._reads: dict[int, _Open] = {}  # open ones, by bit
        self._read_by_all: list[tuple[int, int]] = []  # by every configuration: nothing more to ask of them
        self._changes: list[_Open] = []  # open ones, by return
        self._infos: list[_Steps] = []  # the kinds of which there are infos
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

    def _all_match(self, steps: _Steps) -> bool:
        for state, _, _ in self._nodes:  # noqa: SIM110 - `all` of a generator takes twice as long
            if steps[state] is IMPOSSIBLE:
                return False
        return True

    def _presume(self, position: int, steps: _Steps) -> None:
        if not steps.infos:
            self._infos.append(steps)
        steps.infos |= 1 << len(self._info_positions)
        self._info_positions.append(position)

    def _read_at_once(self, bit: int, steps: _Steps) -> None:
        self._nodes = {
            (state, done if steps[state] is IMPOSSIBLE else done | bit, used)
            for state, done, used in self._nodes
        }

    def _steps_of(self, op: Operation, *, reads: bool) -> _Steps:
        known = self._read_steps if reads else self._change_steps
        kind = self._kind(op)
        steps = known.get(kind)
        if steps is None:
            steps = known[kind] = _Steps(self._model, op, len(known), reads=reads)
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
        """Add to `found` all that can follow `start` up to the moment when `leaving` takes effect."""
        goal = leaving.bit
        stack: list[_Step] = [(*start, _NOTHING)]
        while stack:
            self.budget -= 1
            if self.budget < 0:
                raise _OutOfBudgetError(leaving.position)
            for after, done, used, unseen in self._next(*stack.pop()):
                if done & goal:
                    found.add((after, done ^ goal, used))
                elif not self._covered(seen, after, done, used):
                    stack.append((after, done, used, unseen))

    def _next(self, state: Hashable, done: int, used: int, before: Hashable) -> list[_Step]:
        """The configurations one change further.

        `before` is the state that an info left which nothing has observed yet, or
        _NOTHING: only what comes out differently from it is of use.
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
        """Was a configuration seen that can do whatever this one can? Else remember this one."""
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
        """The configurations that no other one covers."""
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
            for node in sorted(group, key=_more_reads_and_fewer_infos_first)
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
    return used.bit_count(), done, used, repr(state)  # states need not have an order, and a set has none


def _more_reads_and_fewer_infos_first(node: _Node) -> int:
    _, done, used = node
    return used.bit_count() - done.bit_count()
