"""Models, and operations on them, that contradict themselves are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkers.history.operation import Operation
from checkers.models.judge import MODELS, judge_foreign
from checkers.models.mutex import judge_mutex
from checkers.models.register import judge_register
from checkers.models.search import search
from checkers.text.errors import ModelError


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
