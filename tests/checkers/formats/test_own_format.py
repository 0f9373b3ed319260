"""Fencepost's own histories by a model, and foreign histories as Fencepost's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from checkers import formats
from checkers.formats import Foreign
from checkers.formats.event import Event
from checkers.formats.writing import as_ours, export
from checkers.history.reader import parse
from checkers.history.records import Outcome
from checkers.models.judge import judge_foreign
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.support.foreign_histories import FOLDER, calls, events, meaning, precedence
from tests.support.foreign_verdicts import verdict_of
from tests.support.repository import HISTORIES

OURS = '{"fencepost":1,"target":"t","initial":{"value":"v0","token":0}}\n' + "".join(
    f'{{"time":{time},"process":{process},"type":"{kind}","f":"{f}","resource":"r",{rest}}}\n'
    for time, process, kind, f, rest in (
        (1, 0, "invoke", "acquire", '"owner":"a"'),
        (2, 0, "ok", "acquire", '"owner":"a","token":1'),
        (3, 1, "invoke", "read", '"error":null'),
        (4, 1, "ok", "read", '"token":0,"value":"v0"'),
        (5, 0, "invoke", "write", '"token":1,"value":"v1"'),
        (6, 0, "ok", "write", '"token":1,"value":"v1"'),
        (7, 1, "invoke", "read", '"error":null'),
        (8, 1, "ok", "read", '"token":1,"value":"%s"'),
    )
)


@pytest.mark.parametrize("model", ["register", "cas-register"])
def test_a_model_judges_our_own_history_from_its_initial_state(
    file: Callable[[Any], Path], model: str
) -> None:
    assert judge_foreign(file(OURS % "v1"), model).verdict.validity is Validity.VALID
    assert judge_foreign(file(OURS % "v0"), model).verdict.validity is Validity.INVALID
    assert judge_foreign(file(OURS % "v1"), "fenced-mutex").verdict.validity is Validity.VALID


@given(events(cas=False))
def test_an_imported_register_gets_the_same_verdict_as_by_its_model(made: list[Event]) -> None:
    history = Foreign(name="drawn", calls=calls(made))
    written = [call.asked for call in history.calls if call.f == "write" and call.outcome is not Outcome.FAIL]
    if len(set(written)) < len(written):
        with pytest.raises(HistoryError, match="each value is unique"):
            list(as_ours(history, "register"))
        return

    imported = parse(as_ours(history, "register"))

    by_model = verdict_of(history, "register") if imported.operations else Validity.UNKNOWN
    assert judge(imported).validity is by_model


def test_an_imported_lock_gets_the_same_findings() -> None:
    for name in ("valid", "duplicate-token", "token-regression"):
        history = formats.read(FOLDER / f"fenced-mutex.{name}.edn")
        verdict = judge(parse(as_ours(history, "fenced-mutex")))

        assert {found for found, count in verdict.anomalies.items() if count} <= {
            name,
            "double-belief",
            "token-regression",
        }
        assert (verdict.validity is Validity.VALID) == (name == "valid")


def test_our_own_history_is_exported_with_its_resources_as_keys(file: Callable[[Any], Path]) -> None:
    ours = HISTORIES / "valid/strict-own-token.jsonl"
    history = formats.read(ours)

    exported = formats.read(file("".join(export(history, "jepsen-edn", model="register"))))

    wanted = [call for call in history.calls if call.f in {"read", "write"}]
    assert list(map(meaning, exported.calls)) == list(map(meaning, wanted))
    assert precedence(exported.calls) == precedence(tuple(wanted))


def test_a_lock_under_a_lease_is_no_mutex() -> None:
    with pytest.raises(HistoryError, match="under a lease"):
        judge_foreign(HISTORIES / "early-grant/plain.jsonl", "mutex")
