"""Sentences about foreign histories: values as files have them, and events by line or by index."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from checkers import formats
from checkers.formats.operations import with_article
from checkers.formats.writing import as_ours, export
from checkers.models.budget import Budget
from checkers.models.judge import MODELS, judge_foreign
from checkers.text.errors import HistoryError
from checkers.vocabulary.verdict import Finding, Validity
from tests.support.foreign_histories import WriteFile

PYTHON = re.compile(
    r"\bNone\b|\bTrue\b|\bFalse\b|[(\[{]'|', '|\(\d+,|\[\d+, |frozenset|set\(|Fraction|Decimal|Tagged|Symbol|Map\(|<"
)
"""What only Python writes: its constants, and its tuples, lists, dicts and texts in brackets."""


def events(*lines: str) -> str:
    return "".join(f"{{:process {line}}}\n" for line in lines)


def read(answer: str, process: int = 1, f: str = ":read", asked: str = "nil") -> str:
    return events(
        f"{process}, :type :invoke, :f {f}, :value {asked}", f"{process}, :type :ok, :f {f}, :value {answer}"
    )


def write(value: str, f: str = ":write", outcome: str = ":ok") -> str:
    return events(f"0, :type :invoke, :f {f}, :value {value}", f"0, :type {outcome}, :f {f}, :value {value}")


ODD = ("[1 nil true]", '{"a" [nil false]}', "#{:b nil}", '#inst "2026"', "[]", "#{}", "1.5", "1/3", "true")
HOLD = events("0, :type :invoke, :f :acquire", "0, :type :ok, :f :acquire, :value 3")
WRONG = {
    "cas-register": [write(value) + write("[7 8]", ":cas") for value in ODD]
    + [write(value, outcome=":info") + read(value) + read("nil", process=2) for value in ODD],
    "counter": [write("1", ":add") + read("3")],
    "fenced-mutex": [HOLD + HOLD.replace("0,", "1,").replace("3", value) for value in ("2", "4", "nil")],
    "kv": [write('"a"', ":put") + read("nil", f=":get")],
    "mutex": [HOLD + HOLD.replace("0,", "1,")],
    "owned-mutex": [HOLD + HOLD.replace("0,", "1,")],
    "reentrant-fenced-mutex": [HOLD + HOLD.replace("0,", "1,")],
    "reentrant-mutex": [HOLD + HOLD.replace("0,", "1,")],
    "register": [write(value) + read(other) for value, other in pairwise(ODD)]
    + [write(value) + write(value) + read("7") for value in ODD]
    + [write(f"[{value} 1]") + read(f"[{value} 2]", asked=f"[{value} nil]") for value in ODD],
    "set": [write(value, ":add") + read("#{7}") for value in ODD]
    + [write(value, ":add") + read("false", f=":contains", asked=value) for value in ODD],
}
"""For each model, histories that no order explains."""

REFUSED = {
    "cas-register": [write(value, ":cas") for value in (*ODD[1:], "nil")],
    "counter": [write(value, ":add") for value in (*ODD, "nil")] + [read(value) for value in (*ODD, "nil")],
    "fenced-mutex": [HOLD.replace("3", value) for value in ("[1 nil true]", "#{:b nil}", "1.5", "[]", '"a"')],
    "kv": [write(value, ":put") for value in (*ODD, "nil")] + [read(value, f=":get") for value in ODD],
    "register": [write(value, ":enqueue") for value in ODD]
    + [events(f"0, :type {value}, :f :read") for value in ODD]
    + [events(f"0, :type :invoke, :f {value}") for value in ODD]
    + [events(f"{value}, :type :invoke, :f :read") for value in (*ODD, "nil")]
    + [events(f"0, :type :invoke, :f :read, :time {value}") for value in ODD]
    + [write(value).replace(f"ok, :f :write, :value {value}", "ok, :f :write, :value 7") for value in ODD]
    + [
        write(f"1, :key {value}").replace("ok, :f :write, :value 1, :key", "ok, :f :write, :value 1, :x")
        for value in ODD
    ]
    + [f"{value}\n" for value in ODD[:3]],
    "set": [read(value) for value in ("7", "nil", "true", '{"a" nil}')]
    + [read(value, f=":contains") for value in (*ODD[:4], "nil")],
}
"""For each model, histories that it cannot judge."""


def cases(histories: dict[str, list[str]]) -> list[Any]:
    return [
        pytest.param(model, content, id=f"{model}-{number}")
        for model, contents in histories.items()
        for number, content in enumerate(contents)
    ]


@pytest.mark.parametrize(("model", "content"), cases(WRONG))
def test_a_finding_has_no_value_as_python_writes_it(file: WriteFile, model: str, content: str) -> None:
    verdict, notices = judge_foreign(file(content), model)

    assert verdict.validity is Validity.INVALID
    for finding in verdict.findings:
        for sentence in (finding.summary, *finding.steps, *verdict.reasons, *notices):
            assert not PYTHON.search(sentence), sentence


def test_every_model_has_a_history_that_no_order_explains() -> None:
    assert WRONG.keys() == MODELS.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("model", "content"), cases(REFUSED))
def test_a_refusal_has_no_value_as_python_writes_it(file: WriteFile, model: str, content: str) -> None:
    with pytest.raises(HistoryError) as refused:
        judge_foreign(file(content), model)

    assert not PYTHON.search(refused.value.problem), refused.value.problem


@pytest.mark.parametrize("value", ODD)
def test_a_refused_conversion_has_no_value_as_python_writes_it(file: WriteFile, value: str) -> None:
    history = formats.read(file(write(value) + write(value)))

    with pytest.raises(HistoryError) as refused:
        list(as_ours(history, "register"))
    assert not PYTHON.search(refused.value.problem)
    with pytest.raises(HistoryError) as refused:
        export(history, "porcupine-etcd", key="None")
    assert not PYTHON.search(refused.value.problem.removeprefix("no operation is about None"))


def test_a_search_that_gives_up_names_its_key_as_the_file_does(file: WriteFile) -> None:
    path = file("".join(write(f"[[true nil] {value}]") for value in (1, 1)))

    verdict = judge_foreign(path, "register", Budget(steps=1, steps_per_operation=0)).verdict

    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reasons[0].startswith("the search gave up on [true nil]: ")


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_model_has_the_article_that_fits(model: str) -> None:
    assert with_article(model) == ("an " if model == "owned-mutex" else "a ") + model


def test_no_sentence_has_the_wrong_article(file: WriteFile) -> None:
    leased = file(
        '{"fencepost":1,"target":"t","ttl":5}\n'
        '{"time":0,"process":0,"type":"invoke","f":"acquire","resource":"r","owner":"o"}\n'
    )
    with pytest.raises(HistoryError, match="which an owned-mutex cannot express"):
        judge_foreign(leased, "owned-mutex")

    renewed = file(HOLD + events("5, :type :invoke, :f :renew"))
    with pytest.raises(HistoryError, match="end by themselves, which an owned-mutex cannot express"):
        judge_foreign(renewed, "owned-mutex")

    protected = file(HOLD + write("1"))
    with pytest.raises(HistoryError, match="keeps only the operations of an owned-mutex"):
        judge_foreign(protected, "owned-mutex")

    ours = file('{"fencepost":1,"target":"t"}\n')
    assert "an owned-mutex has no tokens" in judge_foreign(ours, "owned-mutex").notices[0]


@pytest.mark.parametrize(
    ("operations", "model"),
    [
        ((":txn",), "register"),
        ((":enqueue", ":dequeue"), "set"),
        ((":read", ":transfer"), "mutex"),
        ((":read", ":transfer"), "register"),
    ],
)
def test_a_history_that_no_model_knows_names_a_tool_that_may(
    file: WriteFile, operations: tuple[str, ...], model: str
) -> None:
    path = file("".join(f"{{:process {i}, :type :invoke, :f {f}}}\n" for i, f in enumerate(operations)))

    with pytest.raises(HistoryError, match="such as Elle for transactions"):
        judge_foreign(path, model)


def test_a_renewal_of_another_tool_is_not_said_to_be_a_run_of_ours(file: WriteFile) -> None:
    path = file("{:process 0, :type :invoke, :f :acquire}\n{:process 1, :type :invoke, :f :renew}\n")

    with pytest.raises(HistoryError, match="if this was exported from a Fencepost run, judge that"):
        judge_foreign(path, "mutex")


BOTH_HOLD = [
    {"process": 0, "type": "invoke", "f": "acquire"},
    {"process": 0, "type": "ok", "f": "acquire", "value": 5},
    {"process": 1, "type": "invoke", "f": "acquire"},
    {"process": 1, "type": "ok", "f": "acquire", "value": 5},
]
IN_EDN = (
    "[{:process 0 :type :invoke :f :acquire} {:process 0 :type :ok :f :acquire}"
    " {:process 1 :type :invoke :f :acquire} {:process 1 :type :ok :f :acquire}]\n"
)


def findings(path: Path, model: str = "mutex") -> tuple[Finding, ...]:
    return judge_foreign(path, model).verdict.findings


def said(finding: Finding) -> str:
    return "\n".join([finding.summary, *finding.steps])


@pytest.mark.parametrize("content", [json.dumps(BOTH_HOLD), json.dumps(BOTH_HOLD) + "\n", IN_EDN])
def test_events_on_one_line_are_cited_by_their_index(file: WriteFile, content: str) -> None:
    (finding,) = findings(file(content))

    assert "explains the answer to process 1 at event 3" in finding.summary
    assert "Process 1 asked for an acquire (event 2)" in said(finding)
    assert "line" not in said(finding)
    assert finding.operations == (0, 1, 2, 3)


def test_an_event_with_an_index_is_cited_by_that(file: WriteFile) -> None:
    numbered = [event | {"index": 10 * place} for place, event in enumerate(BOTH_HOLD)]

    (finding,) = findings(file(json.dumps(numbered)))

    assert "at event 30" in finding.summary
    assert finding.operations == (0, 10, 20, 30)


def test_the_tokens_of_grants_are_cited_by_index_too(file: WriteFile) -> None:
    shown = "\n".join(map(said, findings(file(json.dumps(BOTH_HOLD)), "fenced-mutex")))

    assert "with token 5 at 3 ns (event 3)" in shown
    assert "line" not in shown


def test_a_document_has_the_indexes_as_numbers(file: WriteFile) -> None:
    path = file(json.dumps(BOTH_HOLD))

    document = judge_foreign(path, "mutex").verdict.to_document(path)

    assert json.loads(json.dumps(document))["findings"][0]["operations"] == [0, 1, 2, 3]


@pytest.mark.parametrize("separator", [",\n", ",\n  "])
def test_events_on_lines_of_their_own_are_cited_by_line(file: WriteFile, separator: str) -> None:
    (finding,) = findings(file(f"[{separator.join(map(json.dumps, BOTH_HOLD))}]"))

    assert "at line 4" in finding.summary
    assert "event" not in said(finding)


def test_a_history_of_one_event_and_no_array_is_cited_by_line(file: WriteFile) -> None:
    with pytest.raises(HistoryError, match="history:1: process 0 has no operation open"):
        formats.read(file(json.dumps(BOTH_HOLD[1])))


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([BOTH_HOLD[0], BOTH_HOLD[0]], "event 1: process 0 has an operation open since event 0;"),
        ([BOTH_HOLD[1]], "event 0: process 0 has no operation open"),
        ([BOTH_HOLD[0], BOTH_HOLD[1] | {"f": "release"}], "event 1: ok of release, but event 0 invoked"),
        ([7], "event 0: 7 is not an event"),
    ],
)
def test_an_error_names_the_event(file: WriteFile, events: list[Any], problem: str) -> None:
    with pytest.raises(HistoryError, match=f"history: {problem}"):
        formats.read(file(json.dumps(events)))


def test_a_value_that_is_written_twice_is_cited_by_index(file: WriteFile) -> None:
    writes = [{"process": place, "type": "invoke", "f": "write", "value": 1} for place in (0, 1)]

    with pytest.raises(HistoryError, match="history: event 1: value 1 is also written at event 0;"):
        list(as_ours(formats.read(file(json.dumps(writes))), "register"))
