"""Lines are decoded many at a time: with the same result, and the same error, as one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history import jsonl
from checkers.history.reader import parse
from checkers.history.records import History
from checkers.text.errors import HistoryError
from tests.support.events import BYTES, HOSTILE

EVENT = '{"time":%d,"process":%d,"type":"%s","f":"read","resource":"r0"%s}\n'
HEADER = '{"fencepost":1,"target":"t"}\n'


def result(lines: Iterable[str | bytes], *, together: bool) -> History | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "_BATCH", 3)
        if not together:
            patch.setattr(jsonl, "_decode_together", lambda *_: None)
        try:
            return parse(lines)
        except HistoryError as error:
            return str(error)


@given(
    st.lists(st.tuples(st.integers(0, len(BYTES)), st.integers(0, 40), st.sampled_from([*HOSTILE, b"\n"]))),
    st.booleans(),
)
def test_edited_lines_are_read_alike(edits: list[tuple[int, int, bytes]], keepends: bool) -> None:
    text = BYTES
    for at, length, piece in edits[:2]:
        text = text[:at] + piece + text[at + length :]
    lines = text.splitlines(keepends)

    assert result(lines, together=True) == result(lines, together=False)


@pytest.mark.parametrize("count", range(1, 8))
def test_only_the_last_line_of_a_file_can_be_half_written(count: int) -> None:
    lines = [HEADER, *(EVENT % (1, process, "invoke", "") for process in range(count))]

    assert result([*lines, '{"time":'], together=True) == result([*lines, '{"time":'], together=False)
    assert len(parse([*lines, '{"time":']).notices) == 1
    assert str(result([*lines, '{"time":', lines[1]], together=True)).startswith(f"history:{count + 2}: ")


def test_lines_that_were_split_at_the_wrong_places_are_refused() -> None:
    first, second, third = (EVENT % (1, process, "invoke", "") for process in range(3))
    lines = [HEADER, first + second, "", third]

    assert result(lines, together=True) == result(lines, together=False)
    assert str(result(lines, together=True)).startswith("history:2: ")


def test_lines_before_a_file_that_becomes_too_large_come_first() -> None:
    def growing() -> Iterator[str]:
        yield from (HEADER, EVENT % (5, 0, "invoke", ""), EVENT % (4, 1, "invoke", ""))
        raise HistoryError("history", 0, "it has more than 1 GiB")

    assert str(result(growing(), together=True)).startswith("history:3: time runs backwards")


@pytest.mark.parametrize(
    "event",
    [
        EVENT % (1, 1, "invoke", ',"f":"read"'),
        EVENT % (1, 1, "invoke", ',"unknown":1,"unknown":1'),
        EVENT % (1, 1, "invoke", ',"f" :"read"'),
        (EVENT % (1, 1, "invoke", "")).strip() + EVENT % (1, 2, "invoke", ""),
        (EVENT % (1, 1, "invoke", "")) + EVENT % (1, 2, "invoke", ""),
        EVENT % (1, 0, "invoke", ""),
        EVENT % (0, 1, "invoke", ""),
        "\n",
        "[]\n",
    ],
)
def test_a_wrong_line_among_sound_ones_is_refused(event: str) -> None:
    lines = [HEADER, EVENT % (1, 0, "invoke", ""), event, EVENT % (2, 3, "invoke", "")]

    assert result(lines, together=True) == result(lines, together=False)
    assert str(result(lines, together=True)).startswith("history:3: ")


def test_an_error_before_a_line_over_the_limit_comes_first() -> None:
    lines = [HEADER, EVENT % (5, 0, "invoke", ""), EVENT % (4, 1, "invoke", ""), "x" * (1 << 21)]

    assert str(result(lines, together=True)).startswith("history:3: time runs backwards")
    assert str(result(lines[:2] + lines[3:], together=True)).startswith("history:3: the line is over 1 MiB")
