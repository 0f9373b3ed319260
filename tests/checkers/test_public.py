"""The public face of the checkers, used as its documentation says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import checkers
from checkers import ModelError, Operation
from tests.support.repository import HISTORIES, ROOT

DOCUMENTATION = (ROOT / "docs/checkers.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENTATION, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_documented_examples_print_what_they_say(
    example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(example, "docs/checkers.md", "exec"), {})  # noqa: S102 - our own documentation

    printed = capsys.readouterr().out.splitlines()
    said = re.findall(r"^print\(.*\)  # (\(.*?\)|[^\s,:]+)(?:[,:].*)?$", example, re.MULTILINE)
    assert said
    assert printed[: len(said)] == said


def test_every_public_name_exists_and_they_are_sorted() -> None:
    assert checkers.__all__ == sorted(checkers.__all__)
    assert all(hasattr(checkers, name) for name in checkers.__all__)


def test_the_checkers_import_no_other_package() -> None:
    script = (
        "import sys, checkers; print([m for m in sys.modules if m.split('.')[0] in {'harness', 'workloads'}])"
    )

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


def test_a_path_may_be_a_text() -> None:
    history = str(HISTORIES / "stale-write/by-the-log.jsonl")
    commits = str(HISTORIES / "stale-write/by-the-log.commits.jsonl")
    foreign = str(HISTORIES / "foreign" / "register.valid.json")

    verdict = checkers.judge(checkers.read(history), checkers.read_commits(commits))

    assert verdict.anomalies["stale-write"] == 1
    assert checkers.judge_foreign(foreign, "register").verdict.validity.word == "valid"


@pytest.mark.parametrize(
    ("name", "hint"), [("cas-regster", "did you mean 'cas-register'"), ("bogus", "there are cas-register, ")]
)
def test_an_unknown_model_is_answered_with_the_known_ones(name: str, hint: str) -> None:
    with pytest.raises(ModelError, match=f"no model is called '{name}'; {hint}"):
        checkers.judge_foreign("anything", name)


@pytest.mark.parametrize(
    "judge",
    [
        checkers.judge_register,
        checkers.judge_mutex,
        lambda operations: checkers.search(operations, checkers.MODELS["register"]()),
    ],
)
def test_an_operation_that_returned_before_it_was_called_is_refused(judge: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match=r"called=10, returned=5.*returned before it was called"):
        judge([Operation(f="write", input=1, called=10, returned=5)])


def test_a_model_without_an_initial_state_is_refused() -> None:
    class Endless:
        def step(self, state: Any, _: Any) -> Any:
            return state

    with pytest.raises(ModelError, match="the model Endless has no `initial`"):
        checkers.search([Operation(f="go", called=0, returned=1)], Endless())


@pytest.mark.parametrize("initial", [[], ()])
def test_a_model_whose_states_are_not_hashable_is_refused(initial: list[Any] | tuple[object, ...]) -> None:
    class Listed:
        def __init__(self) -> None:
            self.initial = initial

        def step(self, state: Any, op: Any) -> list[Any]:
            return [*state, op.input]

    with pytest.raises(ModelError, match="the model Listed has a state that cannot be compared"):
        checkers.search([Operation(f="put", input=1, called=0, returned=1)], Listed())


def test_the_verdict_document_names_its_target_and_the_judged_file() -> None:
    file = HISTORIES / "stale-write/ghost.jsonl"

    verdict = checkers.judge(checkers.read(file))

    document = verdict.to_document(file)
    assert (document["target"], document["history"]) == ("stale-write-ghost", str(file))
    assert verdict.to_document()["history"] is None
