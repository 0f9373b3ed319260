"""Logs in the format of Porcupine's etcd tests: written and read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers import formats
from checkers.formats import Foreign, porcupine
from checkers.formats.event import Event
from checkers.formats.text import Text
from checkers.formats.writing import export
from checkers.text.errors import HistoryError
from tests.support.foreign_histories import calls, events
from tests.support.foreign_verdicts import verdict_of


@given(events())
def test_an_etcd_log_keeps_the_verdict(made: list[Event]) -> None:
    before = Foreign(name="drawn", calls=calls(made))

    after = porcupine.read_etcd(Text("drawn", "".join(export(before, "porcupine-etcd"))))

    assert verdict_of(after) is verdict_of(before)


CAS = (
    "{:process 0, :type :invoke, :f :cas, :value [1 2]}\n"
    "{:process 0, :type :fail, :f :cas, :value [1 2], :error :precondition-failed, :seen %s}\n"
)


def test_what_a_failed_cas_found_is_a_read_in_an_etcd_log(file: Callable[[Any], Path]) -> None:
    lines = list(export(formats.read(file(CAS % 3)), "porcupine-etcd"))

    assert [line.split(" - ")[1] for line in lines] == ["0\t:invoke\t:read\tnil\n", "0\t:ok\t:read\t3\n"]


def test_an_etcd_log_cannot_express_a_cas_that_failed_on_a_match(file: Callable[[Any], Path]) -> None:
    with pytest.raises(HistoryError, match=r"history:2: an etcd log cannot express"):
        export(formats.read(file(CAS % 1)), "porcupine-etcd")


@pytest.mark.parametrize(("f", "value"), [("write", "nil"), ("cas", "[nil 1]"), ("cas", "[1 nil]")])
def test_nil_can_only_be_read_in_an_etcd_log(file: Callable[[Any], Path], f: str, value: str) -> None:
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
