"""Histories of other tools with known verdicts, and malformed ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from checkers import formats
from checkers.formats import Foreign, jepsen
from checkers.formats.event import Event
from checkers.formats.operations import VOCABULARY
from checkers.formats.text import Text
from checkers.models.budget import Budget
from checkers.models.judge import MODELS, judge_foreign
from checkers.models.register import judge_register
from checkers.text.errors import HistoryError
from checkers.vocabulary.verdict import Validity
from tests.support.foreign_histories import (
    CASES,
    FOLDER,
    WRITE,
    WROTE,
    WriteFile,
    calls,
    events,
    meaning,
    model_of,
    precedence,
    verdict_of,
)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_each_sample_has_the_verdict_of_its_name(path: Path) -> None:
    verdict, notices = judge_foreign(path, model_of(path))

    said = path.name.split(".")[-2]
    found = {name for name, count in verdict.anomalies.items() if count}
    assert found == {"valid": set(), "invalid": {"non-linearizable"}}.get(said, {said})
    assert verdict.validity is (Validity.INVALID if found else Validity.VALID)
    assert all("left out" in notice or "one by one" in notice for notice in notices)


def test_every_model_has_a_vocabulary() -> None:
    assert VOCABULARY.keys() == MODELS.keys()


def test_the_nemesis_is_not_judged() -> None:
    history = formats.read(FOLDER / "cas-register.valid.edn")

    assert {call.process for call in history.calls} == {0, 1, 3}


def test_the_value_of_an_info_is_ignored(file: WriteFile) -> None:
    path = file(
        "{:process 0, :type :invoke, :f :read, :value nil}\n{:process 0, :type :info, :f :read, :value 9}\n"
        + "\n".join([WRITE.replace("0", "1", 1), WROTE.replace("0", "1", 1)])
        + "\n"
    )

    assert judge_foreign(path, "register").verdict.validity is Validity.VALID


def test_a_failed_cas_shows_only_the_value_that_it_found(file: WriteFile) -> None:
    cas = "{:process 0, :type :invoke, :f :cas, :value [1 2]}\n{:process 0, :type :fail, :f :cas, :value [1 2]%s}\n"

    def validity(field: str) -> Validity:
        return judge_foreign(file(f"{WRITE}\n{WROTE}\n" + cas % field), "cas-register").verdict.validity

    assert validity("") is Validity.VALID
    assert validity(", :error :timeout") is Validity.VALID
    assert validity(", :error :precondition-failed") is Validity.INVALID
    assert validity(", :seen 1") is Validity.INVALID
    assert validity(", :seen 2") is Validity.INVALID


def test_an_operation_that_never_ended_may_have_had_its_effect(file: WriteFile) -> None:
    read = "{:process 1, :type :invoke, :f :read, :value nil}\n{:process 1, :type :ok, :f :read, :value %s}\n"

    assert judge_foreign(file(f"{WRITE}\n" + read % 1), "register").verdict.validity is Validity.VALID
    assert judge_foreign(file(f"{WRITE}\n" + read % "nil"), "register").verdict.validity is Validity.VALID
    assert judge_foreign(file(f"{WRITE}\n" + read % 2), "register").verdict.validity is Validity.INVALID


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1", "true"),
        ("1", "1.0"),
        ('"a"', ":a"),
        ("true", "1"),
        ("[1 2 3]", "[1 2]"),
        ("1/2", "0.5"),
        ("1.5M", "1.5"),
        ("1.5M", "1.50M"),
        ("0.10000000000000000001M", "0.10000000000000000002M"),
    ],
)
def test_values_of_different_kinds_are_never_the_same(file: WriteFile, written: str, read: str) -> None:
    path = file(
        WRITE.replace("value 1", f"value {written}")
        + WROTE.replace("value 1", f"value {written}")
        + "{:process 0, :type :invoke, :f :read, :value nil}"
        + f"{{:process 0, :type :ok, :f :read, :value {read}}}\n"
    )

    assert judge_foreign(path, "register").verdict.validity is Validity.INVALID


def test_an_acquire_that_repeats_what_it_asked_for_has_no_token(file: WriteFile) -> None:
    path = file(
        "".join(
            f"{{:process {process}, :type {kind}, :f {f}, :value 7}}\n"
            for process in (0, 1)
            for f in (":acquire", ":release")
            for kind in (":invoke", ":ok")
        )
    )

    assert judge_foreign(path, "owned-mutex").verdict.validity is Validity.VALID
    verdict = judge_foreign(path, "fenced-mutex").verdict
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reasons[0].startswith("not tested: no acquire carries a token:")


def test_a_violation_without_tokens_comes_before_that_there_are_none(file: WriteFile) -> None:
    twice = "".join(
        f"{{:process {process}, :type {kind}, :f :acquire}}\n"
        for process in (0, 1)
        for kind in (":invoke", ":ok")
    )

    for model in ("fenced-mutex", "reentrant-fenced-mutex"):
        found, untold = judge_foreign(file(twice), model).verdict.reasons

        assert found == "found non-linearizable, which was not expected"
        assert untold.startswith("not tested: no acquire carries a token")


@pytest.mark.parametrize("answer", ["nil", "{:token nil}", '{:owner "A", :fencing-token nil}', '["A" nil]'])
def test_a_grant_whose_token_is_null_carries_none(file: WriteFile, answer: str) -> None:
    bare = judge_foreign(file(granted(answer, answer)), "fenced-mutex").verdict
    mixed = judge_foreign(file(granted("{:token 5}", answer, "{:token 3}")), "fenced-mutex").verdict

    assert bare.validity is Validity.UNKNOWN
    assert bare.reasons[0].startswith("not tested: no acquire carries a token:")
    assert mixed.anomalies["token-regression"] == 1


def granted(*answers: str) -> str:
    """One hold after another, each granted with an answer."""
    return "".join(
        f"{{:process {process}, :type {kind}, :f {f}, :value {value}}}\n"
        for process, answer in enumerate(answers)
        for f, answered in ((":acquire", answer), (":release", "nil"))
        for kind, value in ((":invoke", "nil"), (":ok", answered))
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        *("{:owner 7, :token %s}", '{"token" %s}', "{:fence %s}", "{:fencing-token %s}"),
        *(
            '{"fencing_token" %s}',
            '{"fencingToken" %s, :host "a"}',
            "{:fence %s, :ttl 3}",
            "{:lock/token %s}",
        ),
        *("#:lock{:owner 7, :fencing-token %s}", '["A" %s]', "[9 %s]", "%s"),
    ],
)
@pytest.mark.parametrize("model", ["fenced-mutex", "reentrant-fenced-mutex"])
@pytest.mark.parametrize(
    ("tokens", "anomaly"), [((3, 5), None), ((5, 3), "token-regression"), ((5, 5), "duplicate-token")]
)
def test_a_token_is_read_wherever_a_grant_has_it(
    file: WriteFile, form: str, model: str, tokens: tuple[int, int], anomaly: str | None
) -> None:
    path = file(granted(*(form % token for token in tokens)))

    verdict = judge_foreign(path, model).verdict

    assert verdict.validity is (Validity.INVALID if anomaly else Validity.VALID)
    assert [name for name, count in verdict.anomalies.items() if count] == [anomaly] * bool(anomaly)


def test_a_lock_without_tokens_can_still_have_two_holders(file: WriteFile) -> None:
    lines = granted('{:owner "A"}', '{:owner "B"}').splitlines(keepends=True)

    verdict = judge_foreign(file("".join(lines[:2] + lines[4:6])), "fenced-mutex").verdict

    assert verdict.validity is Validity.INVALID


@pytest.mark.parametrize(
    ("first", "second"), [("1", '"1"'), (":a", '":a"'), ("x", '"x"'), ("true", '"true"'), ("[1]", '"[1]"')]
)
def test_keys_that_are_written_alike_are_different_locks(file: WriteFile, first: str, second: str) -> None:
    path = file(
        "".join(
            f"{{:process {process}, :type {kind}, :f :acquire, :value {value}, :key {key}}}\n"
            for process, key in enumerate((first, second))
            for kind, value in ((":invoke", "nil"), (":ok", 7))
        )
    )

    assert judge_foreign(path, "fenced-mutex").verdict.validity is Validity.VALID


@pytest.mark.parametrize(
    "answer",
    [
        *('"7"', "7.0", "true", "[7]", '["A" "7"]'),
        *('{:fence "7"}', '{:fence 7, "fence" 8}', "{:fence 7, :token 8}"),
    ],
)
def test_a_token_that_is_no_whole_number_is_refused(file: WriteFile, answer: str) -> None:
    path = file(
        "{:process 0, :type :invoke, :f :acquire, :value nil}\n"
        f"{{:process 0, :type :ok, :f :acquire, :value {answer}}}\n"
    )

    with pytest.raises(HistoryError, match=":2: the ok of an acquire carries its token, a whole number"):
        judge_foreign(path, "fenced-mutex")


def test_no_set_holds_an_element_twice(file: WriteFile) -> None:
    path = file(
        "".join(
            f"{{:process 0, :type {kind}, :f {f}, :value {value}}}\n"
            for f, asked, answered in ((":add", "1", "1"), (":read", "nil", "[1 1]"))
            for kind, value in ((":invoke", asked), (":ok", answered))
        )
    )

    assert judge_foreign(path, "set").verdict.validity is Validity.INVALID


def test_a_notice_says_that_keys_are_judged_one_by_one() -> None:
    _, notices = judge_foreign(FOLDER / "register.keys.invalid.edn", "register")

    assert any("the 2 keys are judged one by one" in notice for notice in notices)


def test_a_lock_with_two_holders_is_reported_with_its_tokens(file: WriteFile) -> None:
    path = file(
        "".join(
            f"{{:process {process}, :type {kind}, :f :acquire, :value {value}}}\n"
            for process in (0, 1)
            for kind, value in ((":invoke", "nil"), (":ok", 7))
        )
    )

    verdict = judge_foreign(path, "fenced-mutex").verdict

    assert verdict.anomalies == {"duplicate-token": 1, "token-regression": 0, "non-linearizable": 1}


def test_times_slightly_out_of_order_are_ignored_with_a_notice(file: WriteFile) -> None:
    path = file(WRITE.replace("{", "{:time 500 ") + "\n" + WROTE.replace("{", "{:time 400 ") + "\n")

    verdict, notices = judge_foreign(path, "register")

    assert verdict.validity is Validity.VALID
    assert "time runs backwards from 500 to 400" in notices[0]


def test_a_history_without_operations_is_unknown(file: WriteFile) -> None:
    verdict, _ = judge_foreign(file("[]"), "register")

    assert verdict.validity is Validity.UNKNOWN
    assert "not tested" in verdict.reasons[0]


def test_a_search_beyond_its_budget_is_unknown() -> None:
    budget = Budget(steps=0, steps_per_operation=0)

    verdict, _ = judge_foreign(FOLDER / "cas-register.valid.edn", "cas-register", budget)

    assert verdict.validity is Validity.UNKNOWN
    assert "the search gave up" in verdict.reasons[0]


@given(events())
def test_jepsens_edn_is_read_as_it_was_written(made: list[Event]) -> None:
    before = calls(made)

    text = "".join(jepsen.write_edn(before))
    after = jepsen.read_edn(Text("drawn", text)).calls

    assert list(map(meaning, after)) == list(map(meaning, before))
    assert precedence(after) == precedence(before)
    assert [call.times for call in after] == [call.times for call in before]


@given(events())
def test_jepsens_json_is_the_same_as_its_edn(made: list[Event]) -> None:
    def plain(value: Any) -> Any | list[Any]:
        return list(value) if isinstance(value, tuple) else value

    rows = [
        {"process": event.process, "type": event.type, "f": event.f, "value": plain(event.value)}
        | ({"error": ["precondition-failed", "x"]} if event.refused else {})
        for event in made
    ]
    history = jepsen.read_json(Text("drawn", "\n".join(map(json.dumps, rows)) + "\n"))

    assert list(map(meaning, history.calls)) == list(map(meaning, calls(made)))


@given(events())
def test_pairs_and_search_agree_on_reads(made: list[Event]) -> None:
    history = Foreign(name="drawn", calls=calls(made))
    judged = formats.operations(history, "cas-register")

    assert judge_register(judged.operations).validity is verdict_of(history)
