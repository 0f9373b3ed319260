"""Algorithm G against every order, on random and exhaustive small histories, and on literal ones."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.errors import ModelError
from checkers.history.records import Outcome
from checkers.linearizability.judgement import DEAD_ENDS_SHOWN, Configuration, DeadEnd
from checkers.linearizability.models import (
    IMPOSSIBLE,
    MODELS,
    CasRegister,
    Counter,
    Model,
    Mutex,
    OwnedMutex,
    Register,
)
from checkers.linearizability.operation import UNKNOWN, Operation
from checkers.linearizability.search import search
from checkers.verdict import Validity
from tests.support.linearizations import (
    KINDS,
    WRONG,
    every_history,
    explained,
    interval_structures,
    mismatches,
    owned_mutex_step,
    random_history,
    register_step,
    step_of,
)


class Bare:
    """A model that states nothing but its steps."""

    def __init__(self, model: Model | Mutex) -> None:
        self.initial = model.initial
        self.step = model.step


def is_right(operations: tuple[Operation, ...], model: Any) -> bool:
    return search(operations, model).validity is Validity.VALID


def op(
    f: str,
    called: int,
    returned: int | None = None,
    value: int | str | tuple[int, int] | None = None,
    answer: Any = UNKNOWN,
    **others: Any,
) -> Operation:
    """An operation; without a return it is an info."""
    outcome = Outcome.INFO if returned is None else Outcome.OK
    return Operation(
        **{"f": f, "input": value, "output": answer, "called": called, "returned": returned}
        | {"outcome": outcome}
        | others
    )


def failed(
    f: str, called: int, returned: int, value: int | tuple[int, int] | None = None, answer: Any = UNKNOWN
) -> Operation:
    return op(f, called, returned, value, answer, outcome=Outcome.FAIL)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_search_agrees_with_trying_every_order(name: str) -> None:
    model = MODELS[name]() if "register" not in name else CasRegister(0)
    step = register_step if "register" in name else step_of(model)

    assert not mismatches(lambda ops: is_right(ops, model), name, step, model.initial, seed=1)


@pytest.mark.parametrize("name", ["cas-register", "reentrant-fenced-mutex", "set"])
def test_the_search_is_exact_for_a_model_that_states_nothing(name: str) -> None:
    model = MODELS[name]() if "register" not in name else CasRegister(0)
    bare = Bare(model)

    assert not mismatches(lambda ops: is_right(ops, bare), name, step_of(model), model.initial, seed=2)


def test_the_owned_mutex_agrees_with_its_definition() -> None:
    assert not mismatches(
        lambda ops: is_right(ops, OwnedMutex()), "owned-mutex", owned_mutex_step, None, seed=3
    )


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_small_history_of_a_register_is_misjudged(rng: random.Random) -> None:
    history = random_history(rng, KINDS["cas-register"], 8)

    assert is_right(history, CasRegister(0)) == explained(history, register_step, 0)


def test_every_history_of_three_operations_on_a_register_is_judged_right() -> None:
    asked = [
        op("read", 0, 1, answer=0),
        op("read", 0, 1, answer=1),
        op("write", 0, 1, 1),
        op("write", 0, None, 1),
        op("write", 0, None, 0),
        op("cas", 0, 1, (1, 0)),
        op("cas", 0, None, (1, 1)),
        op("cas", 0, None, (0, 1)),
        failed("cas", 0, 1, (0, 1)),
        failed("cas", 0, 1, (0, 1), 1),
    ]
    wrong = [
        history
        for history in every_history(3, asked)
        if is_right(history, CasRegister(0)) != explained(history, register_step, 0)
    ]

    assert not wrong


def test_there_are_fifteen_ways_for_three_intervals_to_lie() -> None:
    assert len(set(interval_structures(3))) == 15


def test_an_empty_history_is_right() -> None:
    assert is_right((), CasRegister())


def test_operations_may_stand_in_any_sequence() -> None:
    history = (op("read", 10, 11, answer=2), op("write", 0, 1, 1), op("write", 5, 6, 2))

    assert is_right(history, Register())


def test_operations_that_touch_at_a_moment_are_concurrent() -> None:
    assert is_right((op("write", 0, 5, 1), op("read", 5, 6, answer=None)), Register())
    assert not is_right((op("write", 0, 4, 1), op("read", 5, 6, answer=None)), Register())


def test_any_later_read_can_return_the_value_of_an_unanswered_write() -> None:
    history = (op("write", 0, None, 1), op("write", 1, 2, 2), op("read", 3, 4, answer=2))

    assert is_right((*history, op("read", 5, 6, answer=1)), Register())
    assert not is_right((*history, op("read", 5, 6, answer=1), op("read", 7, 8, answer=2)), Register())


def test_an_unanswered_write_takes_effect_once() -> None:
    history = (
        op("write", 0, None, 1),
        op("read", 1, 2, answer=1),
        op("write", 3, 4, 2),
        op("read", 5, 6, answer=1),
    )

    assert not is_right(history, Register())
    assert is_right((op("write", 0, None, 1), *history), Register())


def test_an_unanswered_write_cannot_be_seen_before_it_is_called() -> None:
    assert not is_right((op("read", 0, 1, answer=1), op("write", 2, None, 1)), Register())


def test_an_unanswered_read_says_nothing() -> None:
    assert is_right((op("read", 0), op("write", 1, 2, 1), op("read", 3, 4, answer=1)), Register())


def test_a_cas_that_changes_nothing_needs_the_unanswered_write_before_it() -> None:
    history = (op("write", 0, None, 1), op("cas", 1, 2, (1, 1)))

    assert is_right(history, CasRegister(0))
    assert not is_right(history[1:], CasRegister(0))


def test_an_unanswered_cas_that_changes_nothing_is_no_help() -> None:
    history = (op("cas", 0, None, (1, 1)), op("read", 1, 2, answer=1))

    assert not is_right(history, CasRegister(0))


def test_unanswered_compare_and_sets_take_effect_one_after_another() -> None:
    chain = (op("cas", 0, None, (0, 1)), op("cas", 0, None, (2, 3)), op("cas", 0, None, (1, 2)))

    assert is_right((*chain, op("read", 5, 6, answer=3)), CasRegister(0))
    assert not is_right((*chain[:2], op("read", 5, 6, answer=3)), CasRegister(0))


def test_a_failed_cas_is_a_read_of_what_it_found() -> None:
    write = op("write", 0, 1, 5)

    assert is_right((write, failed("cas", 2, 3, (4, 6), 5)), CasRegister())
    assert not is_right((write, failed("cas", 2, 3, (4, 6), 7)), CasRegister())


def test_a_cas_cannot_fail_on_what_it_expected() -> None:
    write = op("write", 0, 1, 5)

    assert not is_right((write, failed("cas", 2, 3, (5, 6))), CasRegister())
    assert is_right((write, failed("cas", 2, 3, (4, 6))), CasRegister())


def test_of_two_equal_writes_the_first_to_return_can_be_taken_first() -> None:
    history = (
        op("write", 0, 9, 1),
        op("write", 0, 3, 1),
        op("read", 1, 2, answer=1),
        op("write", 4, 5, 2),
        op("read", 6, 7, answer=2),
        op("read", 10, 11, answer=1),
    )

    assert is_right(history, Register())
    assert not is_right((*history, op("read", 12, 13, answer=2)), Register())


def test_the_unexplained_return_is_named_with_the_longest_prefix() -> None:
    history = (
        op("write", 0, 1, 1),
        op("write", 2, 9, 2),
        op("write", 2, None, 3),
        op("read", 3, 4, answer=2),
        op("read", 5, 6, answer=1),
    )

    judgement = search(history, Register())

    assert judgement.validity is Validity.INVALID
    assert judgement.conflicts == (
        DeadEnd(operation=4, configurations=(Configuration(state=2, ahead=(1,), presumed=()),)),
    )


def test_infos_that_were_presumed_are_named() -> None:
    history = (
        op("write", 0, None, 7),
        op("read", 1, 2, answer=7),
        op("read", 3, 4, answer=None),
    )

    (dead_end,) = search(history, Register()).conflicts

    assert dead_end == DeadEnd(operation=2, configurations=(Configuration(state=7, ahead=(), presumed=(0,)),))


def test_a_history_that_takes_too_long_is_unknown_and_says_why() -> None:
    adds = [op("add", 0, 100 + i, i + 1) for i in range(12)]
    history = (*adds, op("read", 300, 301, answer=-1))

    judgement = search(history, Counter(), budget=500)

    assert judgement.validity is Validity.UNKNOWN
    assert judgement.reason == (
        "the search looked at 500 configurations and had not explained the return of operation 0"
    )
    assert judgement.explored == 500
    assert not judgement.conflicts


def test_objects_are_judged_one_by_one() -> None:
    right = (op("write", 0, 1, 1, key="x"), op("read", 2, 3, answer=1, key="x"))
    wrong = (op("write", 0, 1, 1, key="y"), op("read", 2, 3, answer=2, key="y"))

    judgement = search((*right, *wrong), Register())

    assert judgement.validity is Validity.INVALID
    assert [dead_end.operation for dead_end in judgement.conflicts] == [3]
    assert search((*right, *right), Register()).validity is Validity.VALID


def test_a_wrong_object_outranks_one_that_took_too_long() -> None:
    slow = tuple(op("add", 0, 100 + i, i + 1, key="slow") for i in range(12))
    wrong = (op("read", 0, 1, answer=9, key="wrong"),)

    assert search((*slow, *wrong), Counter(), budget=50).validity is Validity.INVALID
    assert search(slow, Counter(), budget=50).validity is Validity.UNKNOWN


def test_without_a_key_in_the_model_all_is_one_object() -> None:
    history = (op("acquire", 0, 1, key="x"), op("acquire", 2, 3, key="y"))

    assert is_right(history, Mutex())
    assert not is_right(history, Bare(Mutex()))


def test_an_answer_without_a_return_is_refused() -> None:
    with pytest.raises(ModelError, match="has an answer but no return"):
        search((op("write", 0, None, 1, outcome=Outcome.OK),), Register())


def test_a_model_whose_failures_have_effects_is_refused() -> None:
    class Careless:
        initial = 0

        def step(self, _: Any, op: Any) -> object:
            return op.input

    with pytest.raises(ModelError, match="must answer the same state or IMPOSSIBLE"):
        search((failed("write", 0, 1, 5),), Careless())


def test_the_orders_that_are_tried_keep_real_time() -> None:
    history = (op("write", 0, 1, 1), op("write", 2, 3, 2), op("read", 4, 5, answer=1))

    assert not explained(history, register_step, 0)
    assert explained(history[:2], lambda state, op: WRONG if state == 1 and op.input != 2 else op.input, 0)


def slow(size: int, key: str | None) -> tuple[Operation, ...]:
    """Unequal adds that all overlap: two to the power of `size` totals."""
    return tuple(op("add", 0, 100 + i, 2**i, key=key) for i in range(size))


def test_a_long_search_goes_on_unless_another_object_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("checkers.linearizability.search.SHORT", 20)
    wrong = op("read", 0, 1, answer=9, key="wrong")

    alone = search(slow(8, "x"), Counter())
    beside = search((*slow(8, "x"), wrong), Counter())

    assert alone.validity is Validity.VALID
    assert alone.explored > 20
    assert beside.validity is Validity.INVALID
    assert beside.explored == 20 + 1
    assert beside.reason.startswith("the search looked at 20 configurations")


def test_a_short_budget_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.linearizability.search.SHORT", 20)

    assert search(slow(8, "x"), Counter(), budget=10).explored == 10
    assert search(slow(8, "x"), Counter(), budget=30).explored == 30


def test_few_of_many_configurations_are_shown_the_simplest_first() -> None:
    history = (*slow(6, None), op("add", 0, 50, 1000), op("read", 60, 61, answer=-1))

    (dead_end,) = search(history, Counter()).conflicts

    assert dead_end.operation == 7
    assert len(dead_end.configurations) == DEAD_ENDS_SHOWN
    assert dead_end.configurations[0] == Configuration(state=1000, ahead=(), presumed=())


def test_as_many_configurations_as_are_needed_are_enough() -> None:
    history = slow(4, None)
    needed = search(history, Counter()).explored

    assert search(history, Counter(), budget=needed).validity is Validity.VALID
    assert search(history, Counter(), budget=needed - 1).validity is Validity.UNKNOWN


def test_many_unanswered_writes_cost_little() -> None:
    lost = [op("write", i, None, i % 3) for i in range(60)]
    turns = [
        turn
        for i in range(100, 400, 10)
        for turn in (op("write", i, i + 1, 7), op("read", i + 2, i + 3, answer=i // 10 % 3))
    ]

    judgement = search((*lost, *turns[:40]), Register())

    assert judgement.validity is Validity.VALID
    assert judgement.explored < 250


def test_overlapping_reads_cost_nothing() -> None:
    reads = [op("read", 2, 50 + i, answer=1) for i in range(30)]

    assert search((op("write", 0, 1, 1), *reads), Register()).explored == 1


def test_configurations_that_others_cover_are_left_out() -> None:
    history = [op("write", 0, None, 1), op("write", 0, None, 2)]
    for i in range(10, 100, 10):
        history += [op("cas", i, i + 1, (1, 3)), op("write", i + 2, i + 5, 1), op("write", i + 2, i + 5, 2)]
        history += [op("cas", i + 6, i + 7, (2, 1))]

    judgement = search(history, CasRegister())

    assert judgement.validity is Validity.VALID
    assert judgement.explored < 90


def test_a_value_read_from_an_unanswered_write_outlasts_later_writes() -> None:
    history = (
        op("write", 0, None, 1),
        op("read", 1, 6, answer=1),
        op("write", 2, 3, 2),
        op("read", 4, 5, answer=2),
    )

    assert is_right((*history, op("read", 7, 8, answer=2)), Register())
    assert not is_right((*history, op("read", 7, 8, answer=2), op("read", 9, 10, answer=1)), Register())


@pytest.mark.parametrize("before", [(), ("a",), ("b",), ("a", "b")], ids=str)
def test_each_way_to_a_state_that_no_other_covers_is_kept(
    before: tuple[str, ...],
) -> None:
    """Unanswered writes of a and b: some were seen before c was written, the others are seen after it."""
    after = [value for value in "ab" if value not in before]
    history = [
        *(op("write", 0, None, value) for value in "ab"),
        *(op("read", 1, 7 if value in before else 90, answer=value) for value in "ab"),
        op("write", 2, 3, "c"),
        op("read", 4, 5, answer="c"),
        op("read", 8, 9, answer="c"),
    ]
    for place, value in enumerate(after):
        history.append(op("read", 20 + 10 * place, 21 + 10 * place, answer=value))

    again = op("read", 80, 81, answer=after[-1] if after else "c")
    lost = op("read", 82, 83, answer=before[-1]) if before else op("read", 82, 83, answer="c")

    assert is_right((*history, again), Register())
    assert not is_right((*history, again, lost), Register())


def test_the_model_is_not_asked_what_follows_the_impossible() -> None:
    class Careful:
        initial = CasRegister(0).initial

        def step(self, state: Any, op: Any) -> Any:
            assert state is not IMPOSSIBLE
            return CasRegister(0).step(state, op)

    history = (op("cas", 0, None, (5, 6)), op("write", 1, 2, 1), op("read", 3, 4, answer=2))

    assert not is_right(history, Careful())


def test_a_read_is_checked_as_one_though_its_kind_has_changes_too() -> None:
    class Careless:
        initial = 0

        def step(self, _: Any, op: Any) -> object:
            return op.input

        def kind(self, op: Any) -> tuple[object, object]:
            return op.f, op.input

    with pytest.raises(ModelError, match="must answer the same state or IMPOSSIBLE"):
        search((op("write", 0, 1, 5), failed("write", 2, 3, 5), failed("write", 4, 5, 6)), Careless())
    with pytest.raises(ModelError, match="must answer the same state or IMPOSSIBLE"):
        search((op("write", 0, 1, 5), op("write", 2, 3, 6), failed("write", 4, 5, 5)), Careless())


def test_of_several_infos_those_that_were_presumed_are_named() -> None:
    history = (
        op("write", 0, None, 6),
        op("write", 0, None, 7),
        op("read", 1, 2, answer=7),
        op("read", 3, 4, answer=8),
    )

    (dead_end,) = search(history, Register()).conflicts

    assert dead_end.configurations == (Configuration(state=7, ahead=(), presumed=(1,)),)


def test_configurations_are_shown_in_the_same_order_each_time() -> None:
    history = (
        op("write", 0, 5, "b"),
        op("write", 0, 6, 2),
        op("write", 0, 6, "a"),
        op("read", 7, 8, answer=9),
    )

    (dead_end,) = search(history, Register()).conflicts

    assert [each.state for each in dead_end.configurations] == ["a", "b", 2]


def test_a_read_that_returned_with_the_unexplained_one_is_ahead_of_it() -> None:
    history = (op("write", 0, 1, 1), op("read", 2, 9, answer=1), op("read", 3, 9, answer=5))

    (dead_end,) = search(history, Register()).conflicts

    assert dead_end == DeadEnd(operation=2, configurations=(Configuration(state=1, ahead=(1,), presumed=()),))
