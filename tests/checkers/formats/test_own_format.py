"""Conversions: our own histories by a model, foreign ones as ours, exports, and logs for Porcupine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers import formats
from checkers.formats import Foreign, porcupine
from checkers.formats.event import Event
from checkers.formats.text import Text
from checkers.formats.writing import as_ours, export, not_exported
from checkers.history.reader import parse
from checkers.history.records import Outcome
from checkers.models.judge import judge_foreign
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.support.foreign_histories import FOLDER, WriteFile, calls, events, meaning, precedence, verdict_of
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
def test_a_model_judges_our_own_history_from_its_initial_state(file: WriteFile, model: str) -> None:
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


def test_our_own_history_is_exported_with_its_resources_as_keys(file: WriteFile) -> None:
    ours = HISTORIES / "valid/strict-own-token.jsonl"
    history = formats.read(ours)

    exported = formats.read(file("".join(export(history, "jepsen-edn", model="register"))))

    wanted = [call for call in history.calls if call.f in {"read", "write"}]
    assert list(map(meaning, exported.calls)) == list(map(meaning, wanted))
    assert precedence(exported.calls) == precedence(tuple(wanted))


def test_a_lock_under_a_lease_is_no_mutex() -> None:
    with pytest.raises(HistoryError, match="under a lease"):
        judge_foreign(HISTORIES / "early-grant/plain.jsonl", "mutex")


ELLE = "judge the history with a tool that knows all its operations, such as Elle for transactions"
VALUES = {
    "acquire": "nil",
    "append": "1",
    "cas": "[1 2]",
    "read": "nil",
    "transfer": "{:from 0, :to 1, :amount 5}",
    "txn": "[[:append 1 2]]",
    "write": "1",
}


def history(*names: str) -> str:
    """Operations of one process, one after another."""
    return "".join(
        f"{{:process 0, :type {kind}, :f :{name}, :value {VALUES[name]}}}\n"
        for name in names
        for kind in (":invoke", ":ok")
    )


@pytest.mark.parametrize(
    ("names", "model", "problem"),
    [
        (
            ("read", "transfer", "transfer"),
            "register",
            "3: a register does not have transfer ×2, and without them nothing explains what was read; "
            + ELLE,
        ),
        (("txn", "txn"), "register", "1: a register has none of these operations: txn ×2; " + ELLE),
        (
            ("read", "transfer"),
            "mutex",
            f"1: a mutex has none of these operations: read ×1, transfer ×1; {ELLE}",
        ),
        (
            ("read", "write", "cas"),
            "set",
            (
                "3: a set does not have write ×1, cas ×1, and without them nothing explains what was read;"
                " export with --model cas-register, which has them"
            ),
        ),
    ],
)
def test_an_export_of_nothing_that_a_model_can_judge_is_refused(
    file: WriteFile, names: tuple[str, ...], model: str, problem: str
) -> None:
    path = file(history(*names))

    with pytest.raises(HistoryError) as caught:
        export(formats.read(path), "jepsen-edn", model)

    assert str(caught.value).removeprefix(f"{path}:") == problem


def test_an_export_says_what_cannot_change_the_object(file: WriteFile) -> None:
    recorded = formats.read(file(history("acquire", "read", "write", "acquire")))

    (note,) = not_exported(recorded, "register")

    assert note == "2 operations are left out, which cannot change a register: acquire ×2"


@pytest.mark.parametrize(
    ("others", "them", "remedy"),
    [
        (("cas",), "it", "export with --model cas-register, which has them"),
        (("transfer", "transfer"), "them", ELLE),
    ],
)
def test_an_export_says_what_may_make_a_right_history_look_wrong(
    file: WriteFile, others: tuple[str, ...], them: str, remedy: str
) -> None:
    recorded = formats.read(file(history("read", "write", *others)))

    (note,) = not_exported(recorded, "register")

    assert note.endswith(f"; without {them}, a right history may look wrong: {remedy}")
    assert note.startswith(f"{len(others)} operation")
    assert f", which a register does not have: {others[0]} ×{len(others)};" in note


def test_a_whole_export_leaves_nothing_out(file: WriteFile) -> None:
    recorded = formats.read(file(history("read", "transfer")))

    assert list(not_exported(recorded, None)) == []
    assert "".join(export(recorded, "jepsen-edn")).count(":transfer") == 2
    assert list(not_exported(formats.read(file(history("read", "write", "cas"))), "cas-register")) == []


@given(events())
def test_an_etcd_log_keeps_the_verdict(made: list[Event]) -> None:
    before = Foreign(name="drawn", calls=calls(made))

    after = porcupine.read_etcd(Text("drawn", "".join(export(before, "porcupine-etcd"))))

    assert verdict_of(after) is verdict_of(before)


CAS = (
    "{:process 0, :type :invoke, :f :cas, :value [1 2]}\n"
    "{:process 0, :type :fail, :f :cas, :value [1 2], :error :precondition-failed, :seen %s}\n"
)


def test_what_a_failed_cas_found_is_a_read_in_an_etcd_log(file: WriteFile) -> None:
    lines = list(export(formats.read(file(CAS % 3)), "porcupine-etcd"))

    assert [line.split(" - ")[1] for line in lines] == ["0\t:invoke\t:read\tnil\n", "0\t:ok\t:read\t3\n"]


def test_an_etcd_log_cannot_express_a_cas_that_failed_on_a_match(file: WriteFile) -> None:
    with pytest.raises(HistoryError, match=r"history:2: an etcd log cannot express"):
        export(formats.read(file(CAS % 1)), "porcupine-etcd")


@pytest.mark.parametrize(("f", "value"), [("write", "nil"), ("cas", "[nil 1]"), ("cas", "[1 nil]")])
def test_nil_can_only_be_read_in_an_etcd_log(file: WriteFile, f: str, value: str) -> None:
    path = file(f"{{:process 0, :type :invoke, :f :{f}, :value {value}}}\n")

    with pytest.raises(HistoryError, match=rf"history:1: an etcd log cannot express a {f} of nil"):
        export(formats.read(path), "porcupine-etcd")


@given(events(), st.permutations(["a", ":b", "c"]))
def test_values_that_are_no_numbers_are_numbered_in_an_etcd_log(made: list[Event], names: list[str]) -> None:
    def named(value: Any) -> Any | None:
        if isinstance(value, tuple):
            return tuple(map(named, value))
        return None if value is None else names[value]

    before = calls(made)
    renamed = Foreign(
        name="drawn",
        calls=tuple(
            type(call)(
                **{field: getattr(call, field) for field in call.__dataclass_fields__}
                | {"asked": named(call.asked)}
                | ({"answered": named(call.answered)} if call.f == "read" and call.outcome == "ok" else {})
            )
            for call in before
        ),
    )

    after = porcupine.read_etcd(Text("drawn", "".join(export(renamed, "porcupine-etcd"))))

    assert verdict_of(after) is verdict_of(Foreign(name="drawn", calls=before))
