"""Algorithm G: search for an order of the operations that a model allows.

It decides any model, repeated values included; its worst case is exponential.

**The search** is just-in-time linearization (Lowe, "Testing for
linearizability", 2017). Walk through the calls and returns by time; at equal
times calls come first, because intervals are closed. Keep the set of all
*configurations*: the state of the object, the open operations that took effect
already, and the infos assumed to have taken effect. An operation must have taken
effect when it returns, and not before: so the search continues only at returns,
from each configuration in which the returning operation has not taken effect yet,
through every sequence of open operations that ends with it. If no configuration is
left, no order explains this return. Configurations are stored once (they are
hashed), and steps of the model are memoized.

**Five prunings** drop configurations that are not needed. Each is sound because, if the
rest of the history can be explained from the dropped configuration, it can also be
explained from one that is kept.

1. *Reads at once.* An open operation that never changes the state and matches it
   takes effect immediately: an order that explained the rest still does without the
   read. Needs: its step is the same state or IMPOSSIBLE from every state.
   True of failures by their definition, of others if the model says so (`Reads`); a
   step that breaks it raises `ModelError`.
2. *Infos are counted.* Of several infos of one kind it matters how many took effect,
   not which: none of them ever returns, so each can take the place of another that was
   called later. Needs: one step for all of one kind (`Kinds`); without it each info is
   a kind of its own. An info that is a read says nothing and is ignored.
3. *Fewer infos are better.* Of two configurations with the same state and the same
   open changes done, the one whose infos are a subset of the other's, and whose reads
   done are a superset, covers the other. Needs nothing.
4. *One kind, one order.* Of open operations of one kind the one that returns first
   goes first, and the infos last: if two took effect the other way round, they can be
   exchanged, since both had been called by then, and the one that is
   now second returns later, or never. Needs: as 2.
5. *An info must be observed.* An info that leads from state s to s' is of no use if the
   next change leads to the same state from s' as from s, and no read that was
   impossible in s comes in between: then the same order without the info explains as
   much. Needs nothing: both steps are compared, so a cas(a→a), which changes nothing,
   and one that needs the write of a before it are both handled. It would not be enough
   to check whether the next operation is a cas or a read of the info's value.

**Keys.** Objects that do not affect each other are judged one by one (`Keys`): a
history is linearizable iff that of each object is (Herlihy and Wing, 1990).
"""

from __future__ import annotations

from collections.abc import Sequence

from checkers.linearizability.configurations import Configurations, OutOfBudgetError
from checkers.linearizability.model_verdict import ModelVerdict, combined
from checkers.linearizability.models import Model
from checkers.linearizability.operation import Operation, by_key
from checkers.linearizability.transitions import optional_method
from checkers.verdict import Validity

BUDGET = 1_000_000
"""The number of configurations of one object after which the search gives up: some seconds."""

SHORT = 20_000
"""The budget of a first pass over all objects: if one of them is wrong, so is the history."""


def search(operations: Sequence[Operation], model: Model, budget: int = BUDGET) -> ModelVerdict:
    """Is there an order of `operations`, in any sequence, that `model` allows?

    Raises:
        ModelError: the model breaks its promises, or an operation has an answer but no return, or
            returned before its call.
    """
    objects = by_key(operations, optional_method(model, "key"))
    judged = [
        (positions, search_one(operations, positions, model, min(budget, SHORT))) for positions in objects
    ]
    if budget > SHORT and all(one.validity is not Validity.INVALID for _, one in judged):
        return combined(
            search_one(operations, positions, model, budget) if one.validity is Validity.UNKNOWN else one
            for positions, one in judged
        )
    return combined(one for _, one in judged)


def search_one(
    operations: Sequence[Operation], positions: Sequence[int], model: Model, budget: int = BUDGET
) -> ModelVerdict:
    """As `search`, for one object: the operations at `positions`, in the order of calls."""
    one = Configurations(operations, model, budget)
    try:
        dead_end = one.run(positions)
    except OutOfBudgetError as error:
        reason = (
            f"the search examined {budget:,} configurations and had not explained the return of"
            f" operation {error.operation}"
        )
        return ModelVerdict(
            validity=Validity.UNKNOWN,
            method="search",
            reason=reason,
            unexplained=(error.operation,),
            explored=budget,
        )
    return ModelVerdict(
        validity=Validity.VALID if dead_end is None else Validity.INVALID,
        method="search",
        conflicts=() if dead_end is None else (dead_end,),
        explored=budget - one.budget,
    )
