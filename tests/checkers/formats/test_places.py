"""Which event a sentence means: by its line, or by its index where all events are on one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkers import formats
from checkers.formats.writing import as_ours
from checkers.models.judge import judge_foreign
from checkers.text.errors import HistoryError
from checkers.vocabulary.verdict import Finding

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
def test_events_on_one_line_are_cited_by_their_index(file: Callable[[Any], Path], content: str) -> None:
    (finding,) = findings(file(content))

    assert "explains the answer to process 1 at event 3" in finding.summary
    assert "Process 1 asked for an acquire (event 2)" in said(finding)
    assert "line" not in said(finding)
    assert finding.operations == (0, 1, 2, 3)


def test_an_event_with_an_index_is_cited_by_that(file: Callable[[Any], Path]) -> None:
    numbered = [event | {"index": 10 * place} for place, event in enumerate(BOTH_HOLD)]

    (finding,) = findings(file(json.dumps(numbered)))

    assert "at event 30" in finding.summary
    assert finding.operations == (0, 10, 20, 30)


def test_the_tokens_of_grants_are_cited_by_index_too(file: Callable[[Any], Path]) -> None:
    shown = "\n".join(map(said, findings(file(json.dumps(BOTH_HOLD)), "fenced-mutex")))

    assert "with token 5 at 3 ns (event 3)" in shown
    assert "line" not in shown


def test_a_document_has_the_indexes_as_numbers(file: Callable[[Any], Path]) -> None:
    path = file(json.dumps(BOTH_HOLD))

    document = judge_foreign(path, "mutex").verdict.to_document(path)

    assert json.loads(json.dumps(document))["findings"][0]["operations"] == [0, 1, 2, 3]


@pytest.mark.parametrize("separator", [",\n", ",\n  "])
def test_events_on_lines_of_their_own_are_cited_by_line(file: Callable[[Any], Path], separator: str) -> None:
    (finding,) = findings(file(f"[{separator.join(map(json.dumps, BOTH_HOLD))}]"))

    assert "at line 4" in finding.summary
    assert "event" not in said(finding)


def test_a_history_of_one_event_and_no_array_is_cited_by_line(file: Callable[[Any], Path]) -> None:
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
def test_an_error_names_the_event(file: Callable[[Any], Path], events: list[Any], problem: str) -> None:
    with pytest.raises(HistoryError, match=f"history: {problem}"):
        formats.read(file(json.dumps(events)))


def test_a_value_that_is_written_twice_is_cited_by_index(file: Callable[[Any], Path]) -> None:
    writes = [{"process": place, "type": "invoke", "f": "write", "value": 1} for place in (0, 1)]

    with pytest.raises(HistoryError, match="history: event 1: value 1 is also written at event 0;"):
        list(as_ours(formats.read(file(json.dumps(writes))), "register"))
