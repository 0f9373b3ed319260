"""Algorithm G against every order, on random, exhaustive and literal small histories; what it refuses."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.operation import Operation
from checkers.history.records import Outcome
from checkers.models.judge import judge_foreign
from checkers.models.mutex import judge_mutex
from checkers.models.objects import IMPOSSIBLE, MODELS, CasRegister, Model, Mutex, OwnedMutex, Register
from checkers.models.register import judge_register
from checkers.models.search import search
from checkers.text.errors import ModelError
from checkers.vocabulary.verdict import Validity
from tests.support.linearizations import (
    WRONG,
    every_history,
    explained,
    failed,
    interval_structures,
    is_right,
    mismatches,
    op,
    owned_mutex_step,
    register_step,
    step_of,
)
from tests.support.model_histories import KINDS, random_history
from tests.support.selection import examples


class Bare:
    """A model that states nothing but its steps."""

    def __init__(self, model: Model | Mutex) -> None:
        self.initial = model.initial
        self.step = model.step


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_search_agrees_with_trying_every_order(name: str) -> None:
    model = MODELS[name]() if "register" not in name else CasRegister(0)
    step = register_step if "register" in name else step_of(model)

    assert not mismatches(lambda ops: is_right(ops, model), name, step, model.initial, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cas-register", "reentrant-fenced-mutex", "set"])
def test_the_search_is_exact_for_a_model_that_states_nothing(name: str) -> None:
    model = MODELS[name]() if "register" not in name else CasRegister(0)
    bare = Bare(model)

    assert not mismatches(lambda ops: is_right(ops, bare), name, step_of(model), model.initial, seed=2)


def test_the_owned_mutex_agrees_with_its_definition() -> None:
    assert not mismatches(
        lambda ops: is_right(ops, OwnedMutex()), "owned-mutex", owned_mutex_step, None, seed=3
    )


@settings(max_examples=examples(150), deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_small_history_of_a_register_is_misjudged(rng: random.Random) -> None:
    history = random_history(rng, KINDS["cas-register"], 8)

    assert is_right(history, CasRegister(0)) == explained(history, register_step, 0)


@pytest.mark.slow
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


def test_operations_may_be_in_any_sequence() -> None:
    history = (op("read", 10, 11, answer=2), op("write", 0, 1, 1), op("write", 5, 6, 2))

    assert is_right(history, Register())


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


def test_objects_are_judged_one_by_one() -> None:
    right = (op("write", 0, 1, 1, key="x"), op("read", 2, 3, answer=1, key="x"))
    wrong = (op("write", 0, 1, 1, key="y"), op("read", 2, 3, answer=2, key="y"))

    verdict = search((*right, *wrong), Register())

    assert verdict.validity is Validity.INVALID
    assert [dead_end.operation for dead_end in verdict.conflicts] == [3]
    assert search((*right, *right), Register()).validity is Validity.VALID


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

    with pytest.raises(ModelError, match="must return the same state or IMPOSSIBLE"):
        search((failed("write", 0, 1, 5),), Careless())


def test_the_orders_that_are_tried_keep_real_time() -> None:
    history = (op("write", 0, 1, 1), op("write", 2, 3, 2), op("read", 4, 5, answer=1))

    assert not explained(history, register_step, 0)
    assert explained(history[:2], lambda state, op: WRONG if state == 1 and op.input != 2 else op.input, 0)


def test_the_model_is_not_asked_for_steps_after_an_impossible_state() -> None:
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

    with pytest.raises(ModelError, match="must return the same state or IMPOSSIBLE"):
        search((op("write", 0, 1, 5), failed("write", 2, 3, 5), failed("write", 4, 5, 6)), Careless())
    with pytest.raises(ModelError, match="must return the same state or IMPOSSIBLE"):
        search((op("write", 0, 1, 5), op("write", 2, 3, 6), failed("write", 4, 5, 5)), Careless())


@pytest.mark.parametrize("before", [(), ("a",), ("b",), ("a", "b")], ids=str)
def test_each_way_to_a_state_that_no_other_covers_is_kept(before: tuple[str, ...]) -> None:
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


@pytest.mark.parametrize(
    ("name", "hint"), [("cas-regster", "did you mean 'cas-register'"), ("bogus", "there are cas-register, ")]
)
def test_an_unknown_model_is_answered_with_the_known_ones(name: str, hint: str) -> None:
    with pytest.raises(ModelError, match=f"no model is called '{name}'; {hint}"):
        judge_foreign("anything", name)


@pytest.mark.parametrize(
    "judge", [judge_register, judge_mutex, lambda operations: search(operations, MODELS["register"]())]
)
def test_an_operation_that_returned_before_it_was_called_is_refused(judge: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match=r"called=10, returned=5.*returned before it was called"):
        judge([Operation(f="write", input=1, called=10, returned=5)])


def test_a_model_without_an_initial_state_is_refused() -> None:
    class Endless:
        def step(self, state: Any, _: Any) -> Any:
            return state

    with pytest.raises(ModelError, match="the model Endless has no `initial`"):
        search([Operation(f="go", called=0, returned=1)], Endless())


@pytest.mark.parametrize("initial", [[], ()])
def test_a_model_whose_states_are_not_hashable_is_refused(initial: list[Any] | tuple[object, ...]) -> None:
    class Listed:
        def __init__(self) -> None:
            self.initial = initial

        def step(self, state: Any, op: Any) -> list[Any]:
            return [*state, op.input]

    with pytest.raises(ModelError, match="the model Listed has a state that cannot be compared"):
        search([Operation(f="put", input=1, called=0, returned=1)], Listed())
