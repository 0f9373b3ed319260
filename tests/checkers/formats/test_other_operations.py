"""An export by a model: what it leaves out is said, and nothing without a meaning is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkers import formats
from checkers.formats.writing import export, not_exported
from checkers.text.errors import HistoryError

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
    file: Callable[[Any], Path], names: tuple[str, ...], model: str, problem: str
) -> None:
    path = file(history(*names))

    with pytest.raises(HistoryError) as caught:
        export(formats.read(path), "jepsen-edn", model)

    assert str(caught.value).removeprefix(f"{path}:") == problem


def test_an_export_says_what_cannot_change_the_object(file: Callable[[Any], Path]) -> None:
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
    file: Callable[[Any], Path], others: tuple[str, ...], them: str, remedy: str
) -> None:
    recorded = formats.read(file(history("read", "write", *others)))

    (note,) = not_exported(recorded, "register")

    assert note.endswith(f"; without {them}, a right history may look wrong: {remedy}")
    assert note.startswith(f"{len(others)} operation")
    assert f", which a register does not have: {others[0]} ×{len(others)};" in note


def test_a_whole_export_leaves_nothing_out(file: Callable[[Any], Path]) -> None:
    recorded = formats.read(file(history("read", "transfer")))

    assert list(not_exported(recorded, None)) == []
    assert "".join(export(recorded, "jepsen-edn")).count(":transfer") == 2
    assert list(not_exported(formats.read(file(history("read", "write", "cas"))), "cas-register")) == []
