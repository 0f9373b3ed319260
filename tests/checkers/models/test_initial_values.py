"""Objects that do not start with the value of their model."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from checkers import formats
from checkers.formats.writing import as_ours, export
from checkers.history.reader import parse
from checkers.models.initial_values import state_of
from checkers.models.judge import MODELS, judge_foreign
from checkers.models.objects import Fenced, FencedNested, Nested
from checkers.text.errors import HistoryError, ModelError
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.support.foreign_histories import WriteFile

OURS = '{"fencepost":1,"target":"t"}\n'


def events(*lines: str) -> str:
    return "".join(f"{{:process {line}}}\n" for line in lines)


def read(answer: str, f: str = ":read") -> str:
    return events(f"0, :type :invoke, :f {f}", f"0, :type :ok, :f {f}, :value {answer}")


def change(f: str, value: str) -> str:
    return events(f"1, :type :invoke, :f {f}, :value {value}", f"1, :type :ok, :f {f}, :value {value}")


ACQUIRE = events("0, :type :invoke, :f :acquire", "0, :type :ok, :f :acquire, :value 7")
RELEASE = events("0, :type :invoke, :f :release", "0, :type :ok, :f :release")
STARTED: dict[str, tuple[Any, Any, str]] = {
    "cas-register": (0, 1, read("0") + change(":cas", "[0 3]") + read("3")),
    "counter": (10, 0, change(":add", "1") + read("11")),
    "fenced-mutex": (6, 7, ACQUIRE),
    "kv": ("a", "", change(":append", '"b"') + read('"ab"', ":get")),
    "mutex": (True, False, RELEASE),
    "owned-mutex": (0, 1, RELEASE),
    "reentrant-fenced-mutex": (6, 7, ACQUIRE),
    "reentrant-mutex": (0, 1, RELEASE),
    "register": (0, None, read("0")),
    "set": ([1], [], change(":add", "2") + read("#{1 2}")),
}
"""For each model: a value with which the history is right, one with which it is not, and the history."""


@pytest.mark.parametrize("model", STARTED)
def test_an_object_starts_with_the_given_value(file: WriteFile, model: str) -> None:
    right, wrong, history = STARTED[model]
    path = file(history)

    assert judge_foreign(path, model, initial=right).verdict.validity is not Validity.INVALID
    assert judge_foreign(path, model, initial=wrong).verdict.validity is Validity.INVALID


def test_every_model_can_start_with_a_given_value() -> None:
    assert STARTED.keys() == MODELS.keys()


@pytest.mark.parametrize("model", STARTED)
def test_without_a_given_value_an_object_starts_as_its_model_does(file: WriteFile, model: str) -> None:
    _, _, history = STARTED[model]

    found = judge_foreign(file(history), model).verdict.validity

    assert (found is Validity.INVALID) is (history is not ACQUIRE)


def test_each_object_of_a_history_starts_with_the_given_value(file: WriteFile) -> None:
    path = file(
        events(
            '0, :type :invoke, :f :read, :value ["a" nil]',
            '0, :type :ok, :f :read, :value ["a" 0]',
            '0, :type :invoke, :f :read, :value ["b" nil]',
            '0, :type :ok, :f :read, :value ["b" 0]',
        )
    )

    assert judge_foreign(path, "register", initial=0).verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    ("model", "value", "state"),
    [
        ("register", None, None),
        ("register", [1, [2]], (1, (2,))),
        ("counter", -3, -3),
        ("kv", "", ""),
        ("set", [], frozenset()),
        ("set", [[1], "a"], frozenset({(1,), "a"})),
        ("mutex", False, False),
        ("mutex", True, True),
        ("owned-mutex", None, None),
        ("owned-mutex", 3, 3),
        ("reentrant-mutex", None, Nested()),
        ("reentrant-mutex", 3, Nested(3, 1)),
        ("fenced-mutex", 5, Fenced(None, 5)),
        ("reentrant-fenced-mutex", 5, FencedNested(None, 0, 5, None)),
    ],
)
def test_a_value_stands_for_a_state(model: str, value: Any, state: Any) -> None:
    assert state_of(model, value) == state


@pytest.mark.parametrize(
    ("model", "value", "problem"),
    [
        ("register", 1 << 63, "a register cannot start with that: a number beyond 64 bits"),
        ("register", float("inf"), "a register cannot start with that: inf cannot be compared"),
        ("counter", "x", 'a counter starts with a whole number, not "x"'),
        ("counter", True, "a counter starts with a whole number, not true"),
        ("counter", 1.5, "a counter starts with a whole number, not 1.5"),
        ("kv", 3, "a kv starts with a text, not 3"),
        ("set", [1, 1], r"a set starts with an array of different elements, not \[1 1\]"),
        ("set", {"a": 1}, 'a set starts with an array of different elements, not {"a" 1}'),
        ("mutex", 1, "a mutex starts with true if it is held, else false, not 1"),
        ("owned-mutex", True, "an owned-mutex starts with the process that holds it, or null, not true"),
        ("reentrant-mutex", -1, "a reentrant-mutex starts with the process that holds it, or null, not -1"),
        ("fenced-mutex", None, "a fenced-mutex starts with the token of the last grant, a whole number, not"),
        ("reentrant-fenced-mutex", "5", 'token of the last grant, a whole number, not "5"'),
    ],
)
def test_a_value_that_does_not_fit_the_model_is_refused(model: str, value: Any, problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        state_of(model, value)


LONG = f'"{"x" * 200}"'
OPTIONS = [
    ("kv", STARTED["kv"][2], '"a"'),
    ("set", STARTED["set"][2], "[1]"),
    ("set", read('["b" [2 1]]'), '["b", [2, 1]]'),
    ("counter", STARTED["counter"][2], "10"),
    ("counter", change(":add", "2") + read("-3"), "-5"),  # which no lost add explains
    ("cas-register", STARTED["cas-register"][2], "0"),
    ("cas-register", change(":cas", '[{"a" 1} 2]'), '{"a": 1}'),
    ("register", read("true"), "true"),
    ("register", read("1.5"), "1.5"),
    ("register", read("[2 1]"), "[2, 1]"),
    ("register", read("{}"), "{}"),
    ("register", read('{"b" [nil], "a" {}}'), '{"a": {}, "b": [null]}'),
    ("register", read('"\\u202e"'), r'"\u202e"'),
    ("register", read(LONG), LONG),
    ("mutex", RELEASE, "true"),
    ("owned-mutex", RELEASE, "0"),
    ("reentrant-mutex", RELEASE, "0"),
]
"""Histories that begin with an answer, and the start in JSON that explains it."""


@pytest.mark.parametrize(("model", "history", "option"), OPTIONS)
def test_the_reasons_name_a_start_that_explains_the_answers(
    file: WriteFile, model: str, history: str, option: str
) -> None:
    path = file(history)

    _, reason = judge_foreign(path, model).verdict.reasons

    assert reason.startswith("the answers are possible if ")
    assert shlex.split(reason.partition(": add --initial ")[2]) == [option]
    assert judge_foreign(path, model, initial=json.loads(option)).verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (":empty", "JSON has no keyword :empty"),
        ('[{"a" :b}]', "JSON has no keyword :b"),
        ("#{}", "JSON has no set #{}"),
        ("{:a 1}", "the names in an object of JSON are texts, not :a"),
        ("{1 2}", "the names in an object of JSON are texts, not 1"),
        (r"\a", r"JSON has no character \a"),
        ("1.50M", "JSON has no ratio or exact decimal 1.50M"),
        ("1/2", "JSON has no ratio or exact decimal 1/2"),
        ("word", "JSON has no symbol word"),
        ('#inst "2026"', 'JSON has no tagged literal #inst "2026"'),
    ],
)
def test_the_reasons_say_why_no_option_gives_a_start(file: WriteFile, value: str, why: str) -> None:
    for model, history, remedy in (
        ("register", read(value), "let the test write it first"),
        ("cas-register", change(":cas", f"[{value} 1]"), "let the test write it first"),
    ):
        _, reason = judge_foreign(file(history), model).verdict.reasons

        assert reason.startswith(f"the answers are possible if the {model} starts with ")
        assert reason.endswith(f": --initial cannot say that, as {why}; {remedy}")


def test_a_set_that_starts_with_a_keyword_has_no_option(file: WriteFile) -> None:
    _, reason = judge_foreign(file(change(":add", "2") + read("#{:a 2}")), "set").verdict.reasons

    assert reason == (
        "the answers are possible if the set starts with #{:a}: --initial cannot say that, as JSON has no"
        " keyword :a; let the test add it first"
    )


@pytest.mark.parametrize("model", ["fenced-mutex", "reentrant-fenced-mutex"])
def test_a_fenced_lock_that_is_held_at_the_start_has_no_option(file: WriteFile, model: str) -> None:
    _, reason = judge_foreign(file(RELEASE + ACQUIRE), model).verdict.reasons

    assert reason == (
        f"the answers are possible if process 0 holds the {model} at the start: --initial cannot say that, as"
        " it takes the token of the last grant; let the test begin with a free lock"
    )


def test_a_start_too_long_to_copy_is_shortened(file: WriteFile) -> None:
    _, reason = judge_foreign(file(read(f'"{"x" * 2000}"')), "register").verdict.reasons

    assert reason.endswith("x… (2,002 characters): add --initial with all of it as JSON")


def test_the_start_of_one_of_several_objects_is_named_with_it(file: WriteFile) -> None:
    path = file(
        events('0, :type :invoke, :f :read, :value ["a" nil]', '0, :type :ok, :f :read, :value ["a" 0]')
    )

    (_, reason) = judge_foreign(path, "register").verdict.reasons

    assert reason == "the answers on a are possible if the register starts with 0: add --initial 0"


def test_a_value_that_was_there_before_its_write_may_be_the_start(file: WriteFile) -> None:
    (_, reason) = judge_foreign(file(read("0") + change(":write", "0")), "register").verdict.reasons

    assert reason.endswith("add --initial 0")


@pytest.mark.parametrize(
    ("model", "history"),
    [
        ("register", change(":write", "1") + read("5")),  # it would have been overwritten
        ("register", read("0") + read("1")),
        ("mutex", RELEASE + RELEASE),
        ("register", read(":a") + read(":b")),
        ("counter", change(":add", "2") + read("1")),  # an add was lost
        ("set", change(":add", "2") + read("#{}")),
    ],
)
def test_no_start_is_named_that_explains_nothing(file: WriteFile, model: str, history: str) -> None:
    reasons = judge_foreign(file(history), model).verdict.reasons

    assert reasons == ("found non-linearizable, which was not expected",)


def test_the_steps_are_about_the_given_start(file: WriteFile) -> None:
    path = file(read("0") + change(":write", "1") + read("1") + read("0"))

    (finding,) = judge_foreign(path, "register", initial=0).verdict.findings

    assert finding.steps[-1] == "So the initial value was seen after another value had replaced it."
    assert any("it found 0, and that was gone once 1 had replaced it" in step for step in finding.steps)


def test_a_fencepost_history_has_its_initial_value_in_its_header(file: WriteFile) -> None:
    ours = formats.read(file(OURS))

    for refused in (
        lambda: judge_foreign(file(OURS), "register", initial=0),
        lambda: list(as_ours(ours, "register", initial=0)),
        lambda: export(ours, "jepsen-edn", initial=0),
    ):
        with pytest.raises(HistoryError, match="the header of a Fencepost history has its initial value"):
            refused()


def test_an_imported_register_starts_with_the_given_value(file: WriteFile) -> None:
    history = formats.read(file(read("0") + change(":write", "1") + read("1")))

    ours = parse(as_ours(history, "register", initial=0))

    assert ours.header.initial_value == 0
    assert judge(ours).validity is Validity.VALID
    assert judge(parse(as_ours(history, "register"))).validity is Validity.INVALID


def test_an_imported_register_cannot_write_its_initial_value(file: WriteFile) -> None:
    history = formats.read(file(change(":write", "0")))

    with pytest.raises(HistoryError, match="value 0 is also written before anything is written"):
        list(as_ours(history, "register", initial=0))


@pytest.mark.parametrize("value", [[1], 1.5, True])
def test_an_initial_value_that_our_format_lacks_is_refused(file: WriteFile, value: Any) -> None:
    with pytest.raises(HistoryError, match=r"history: history\.jsonl holds texts, numbers and null, not"):
        list(as_ours(formats.read(file(read("1"))), "register", initial=value))


def test_an_imported_lock_starts_free(file: WriteFile) -> None:
    with pytest.raises(HistoryError, match="an initial value only for a register, with --model register"):
        list(as_ours(formats.read(file(ACQUIRE)), "fenced-mutex", initial=5))


@pytest.mark.parametrize("form", ["jepsen-edn", "porcupine-etcd"])
def test_an_export_writes_the_initial_value_first(file: WriteFile, form: str) -> None:
    history = formats.read(file(STARTED["cas-register"][2]))

    exported = formats.read(file("".join(export(history, form, initial=0))))

    assert (exported.calls[0].f, exported.calls[0].asked, exported.calls[0].process) == ("write", 0, 2)
    assert judge_foreign(Path(exported.name), "cas-register").verdict.validity is Validity.VALID


def test_only_an_export_of_registers_has_an_initial_value(file: WriteFile) -> None:
    with pytest.raises(HistoryError, match="only registers have writes: drop --initial"):
        export(formats.read(file(ACQUIRE)), "jepsen-edn", initial=0)
