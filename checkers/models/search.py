"""Algorithm G: search for an order of the operations that a model allows.

It decides any model, repeated values included; its worst case is exponential.

**The search** is just-in-time linearization (Lowe, "Testing for linearizability", 2017). Walk through the
calls and returns by time; at equal times calls come first, because intervals are closed. Keep the set of all
*configurations*: the state of the object, the open operations that took effect already, and the infos assumed
to have taken effect. An operation must have taken effect when it returns, and not before: so the search
continues only at returns, from each configuration in which the returning operation has not taken effect yet,
through every sequence of open operations that ends with it. If no configuration is left, no order explains
this return. Configurations are stored once (they are hashed), and steps of the model are memoized.

**Five prunings** drop unnecessary configurations. Each is sound because, if the rest of the history can be
explained from the dropped configuration, it can also be explained from one that is kept.

1. *Reads at once.* An open operation that never changes the state and matches it takes effect immediately: an
   order that explained the rest still does without the read. Needs: its step is the same state or IMPOSSIBLE
   from every state. This holds for failures by definition, for others if the model says so (`is_read`); a
   step that breaks it raises `ModelError`.
2. *Infos are counted.* For several infos of one kind it matters how many took effect,
   not which: none of them ever returns, so each can take the place of another that was
   called later. Needs: one step for all of one kind (`kind`); without it each info is
   a kind of its own. An info that is a read says nothing and is ignored.
3. *Fewer infos are better.* Of two configurations with the same state and the same
   open changes done, the one whose infos are a subset of the other's, and whose reads
   done are a superset, covers the other. Needs nothing.
4. *One kind, one order.* Among open operations of one kind the one that returns first goes first, and the
   infos last. If two took effect the other way round, they can be exchanged: both had been called by then,
   and the one that is now second returns later, or never. Needs: as 2.
5. *An info must be observed.* An info that leads from state s to s' is of no use if the next change leads to
   the same state from s' as from s, and no read that was impossible in s comes in between: then the same
   order without the info explains as much. Needs nothing: both steps are compared, so a cas(a→a), which
   changes nothing, and one that needs the write of a before it are both handled. It would not be enough to
   check whether the next operation is a cas or a read of the info's value.

**Keys.** Objects that do not affect each other are judged one by one (`key`): a
history is linearizable iff the history of each object is (Herlihy and Wing, 1990).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from checkers.history.operation import Operation, by_key
from checkers.models.budget import Budget, OutOfBudgetError, Resource
from checkers.models.configurations import Configurations
from checkers.models.model_verdict import Clash, DeadEnd, GaveUp, ModelVerdict, OutOfScopeError, combined
from checkers.models.objects import Model
from checkers.vocabulary.verdict import Validity

BUDGET = Budget()  # the budget for one history: some seconds, and 256 MiB
SHORT = 40_000  # the steps of a first pass over each object: if one of them is wrong, so is the history
NARROW = 100
"""The configurations that a second pass keeps at a return: it looks for one that survives to the end."""


def search(operations: Sequence[Operation], model: Model, budget: Budget = BUDGET) -> ModelVerdict:
    """Is there an order of `operations`, in any sequence, that `model` allows?

    Raises:
        ModelError: the model breaks its promises, or an operation has an answer but no return, or
            returned before its call.
    """
    objects = list(by_key(operations, getattr(model, "key", None)))
    return combined(_search_each(operations, objects, model, budget))


def judge_each(
    operations: Sequence[Operation],
    decide: Callable[[Sequence[int]], Clash | None],
    model: Model,
    budget: Budget = BUDGET,
) -> ModelVerdict:
    """Judge each object by `decide`, from the positions of its operations; where it cannot, by the search.

    Raises:
        ModelError: as `search`.
    """
    judged: dict[int, ModelVerdict] = {}
    left: dict[int, Sequence[int]] = {}
    for number, positions in enumerate(by_key(operations, attrgetter("key"))):
        try:
            clashes = tuple(filter(None, [decide(positions)]))
        except OutOfScopeError:
            left[number] = positions
            continue
        validity = Validity.INVALID if clashes else Validity.VALID
        judged[number] = ModelVerdict(validity=validity, method="pairs", conflicts=clashes)
    judged.update(zip(left, _search_each(operations, list(left.values()), model, budget), strict=True))
    return combined(one for _, one in sorted(judged.items()))


def _search_each(
    operations: Sequence[Operation], objects: Sequence[Sequence[int]], model: Model, budget: Budget
) -> list[ModelVerdict]:
    """Search each object: first with an equal share of half the steps, then with the rest."""
    left = budget.steps_for(sum(map(len, objects)))
    share = left // 2 // max(1, len(objects))
    judged = []
    for positions in objects:
        steps = min(share, SHORT + budget.steps_per_operation * len(positions))
        judged.append(_search_one(operations, positions, model, Allowance(budget.bytes, steps)))
        left -= judged[-1].steps
    if any(one.validity is Validity.INVALID for one in judged):
        return judged
    for number, positions in enumerate(objects):
        if judged[number].validity is Validity.UNKNOWN:
            judged[number] = _search_on(operations, positions, model, Allowance(budget.bytes, left))
            left -= judged[number].steps
    return judged


class Allowance(NamedTuple):
    """The budget for one search of one object."""

    bytes: int
    steps: int
    widest: int = sys.maxsize  # the most configurations kept at a return


def _search_on(
    operations: Sequence[Operation], positions: Sequence[int], model: Model, allowed: Allowance
) -> ModelVerdict:
    """Search one object that is not decided soon, in three ways.

    The first two are cheap where the third is not: finding a read that no order of the changes explains,
    and finding an order although not all configurations are kept.
    """
    spent = 0
    for look, widest, share in (
        (_read_alone, sys.maxsize, 3),
        (_search_one, NARROW, 3),
        (_search_one, sys.maxsize, 1),
    ):
        given = Allowance(allowed.bytes, (allowed.steps - spent) // share, widest)
        one = look(_coarse(operations, positions, model), positions, model, given)
        spent += one.steps
        if one.validity is not Validity.UNKNOWN:
            break
    return replace(one, steps=spent)


def _coarse(operations: Sequence[Operation], positions: Sequence[int], model: Model) -> Sequence[Operation]:
    coarse = getattr(model, "coarse", None)
    return operations if coarse is None else coarse(operations, positions)


def _read_alone(
    operations: Sequence[Operation], positions: Sequence[int], model: Model, allowed: Allowance
) -> ModelVerdict:
    """Look, from the last one back, for a read that is wrong even if all other reads are left out."""
    is_read = getattr(model, "is_read", None) or (lambda _: False)
    returned = [each for each in positions if operations[each].returned is not None]
    reads = {each for each in returned if is_read(operations[each])}
    left = allowed.steps
    for read in sorted(reads, key=lambda each: operations[each].returned or 0, reverse=True):
        alone = [each for each in positions if each == read or each not in reads]
        left -= len(positions)
        if left < 0:
            break
        coarse = _coarse(operations, alone, model)
        one = _search_one(coarse, alone, model, allowed._replace(steps=left // 2))
        left -= one.steps
        if one.validity is Validity.INVALID:
            ends = (each for each in one.conflicts if isinstance(each, DeadEnd))
            bare = tuple(replace(end, configurations=()) for end in ends)
            return replace(one, conflicts=bare, steps=allowed.steps - left)
    return ModelVerdict(validity=Validity.UNKNOWN, method="search", steps=allowed.steps - max(left, 0))


def _search_one(
    operations: Sequence[Operation], positions: Sequence[int], model: Model, allowed: Allowance
) -> ModelVerdict:
    """Return the verdict on one object: the operations at its positions, in the order of calls."""
    one = Configurations(operations, model, limit=allowed.bytes, steps=allowed.steps, widest=allowed.widest)
    conflicts: tuple[DeadEnd, ...] = ()
    gave_up: tuple[GaveUp, ...] = ()
    try:
        conflicts = tuple(filter(None, [one.run(positions)]))
    except OutOfBudgetError as error:
        gave_up = (GaveUp(operation=one.returning, spent=error.resource),)
    if one.is_partial:
        gave_up += tuple(GaveUp(operation=end.operation, spent=Resource.STEPS) for end in conflicts)
        conflicts = ()
    return ModelVerdict(
        validity=Validity.UNKNOWN if gave_up else Validity.INVALID if conflicts else Validity.VALID,
        method="search",
        conflicts=conflicts,
        gave_up=gave_up,
        reason="".join(map(str, gave_up)),
        explored=one.explored,
        steps=allowed.steps - one.steps_left,
    )
