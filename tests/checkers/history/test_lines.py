"""Lines of a file: decoded many at a time as one by one, how long they may be, and that no field is repeated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history import jsonl
from checkers.history.jsonl import MAX_LINE, Line, batches, decode, is_cut_short, read_lines
from checkers.history.reader import parse, read
from checkers.history.records import History
from checkers.history.repeated_names import none_repeats_a_name, repeats_a_name
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


def test_a_line_over_the_limit_arrives_cut_just_beyond_it(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(b"x" * (MAX_LINE + 10) + b"\n")

    assert [len(text) for text in read_lines(path)] == [MAX_LINE + 1, 10]


def test_a_whole_last_line_that_is_wrong_is_not_half_written() -> None:
    decoder = msgspec.json.Decoder(dict[str, int])

    assert not is_cut_short(b'{"a": "b"}')
    assert is_cut_short(b'{"a": "b"')
    assert not is_cut_short(b"[" * 100_000)  # too deep, whatever follows
    with pytest.raises(HistoryError):
        decode(Line("f", 3, b'{"a": "b"}', unfinished=True), decoder)


def test_a_refused_line_is_shown_from_its_start_up_to_a_limit() -> None:
    short = Line("f", 3, b" {} \r\n", unfinished=False)
    full = Line("f", 3, b"x" * 120, unfinished=False)
    long = Line("f", 3, b"x" * 121, unfinished=False)

    assert str(short.error("no event")).endswith("no event, in:  {} ")
    assert str(full.error("no event")).endswith("no event, in: " + "x" * 120)
    assert str(long.error("no event")).endswith("no event, in: " + "x" * 120 + "…")


def test_a_line_may_be_as_long_as_the_limit() -> None:
    ((line,),) = batches([b"x" * MAX_LINE], "f")

    assert line.unfinished
    with pytest.raises(HistoryError, match="over 1 MiB"):
        list(batches([b"x" * (MAX_LINE + 1)], "f"))


ONCE = [
    '{"f":"write"}',
    '{"time":1,"process":0,"type":"ok","f":"write","resource":"r","token":1,"value":"a","error":null}',
    '{"f":"acquire","owner":"a","ttl":1,"attempt":2}',
    '{"f":"a","value":"says \\"f\\": no"}',
    '{"f" : "a", "value" :{"f":1}}',
    '{"f":["f","f"],"g":{"f":{"f":1}}}',
    '{"":1," ":2}',
]
TWICE = [
    '{"f":"write","f":"write"}',
    '{"f":"write","token":1,"f":"read"}',
    '{"f":"write","\\u0066":"read"}',
    '{"f" :"write","f":"read"}',
    '{"f":"write","f"\t:"read"}',
    '{"g":{"x":1,"x":1}}',
    '{"g":[{"x":1,"x":1}]}',
    '{"":1,"":2}',
]
WITH_A_FENCE = (
    '{"fencepost":1,"target":"t","fenced":true,"policy":"strict","require":{"stale_writes_attempted":0}}\n'
)


@pytest.mark.parametrize("line", ONCE)
def test_a_name_that_occurs_once_is_not_repeated(line: str) -> None:
    assert not repeats_a_name(line.encode())


@pytest.mark.parametrize("line", TWICE)
def test_a_name_that_occurs_twice_is_repeated(line: str) -> None:
    assert repeats_a_name(line.encode())


NAMES = st.sampled_from(["time", "f", "token", "value", "zz", "x\\y", 'q"', ""])


@given(st.lists(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=5), min_size=1, max_size=4))
def test_many_lines_are_only_cleared_if_each_one_is(drawn: list[list[tuple[str, str]]]) -> None:
    lines = [
        "{" + ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in pairs) + "}\n"
        for pairs in drawn
    ]
    twice = [len({name for name, _ in pairs}) < len(pairs) for pairs in drawn]

    assert [repeats_a_name(line.encode()) for line in lines] == twice
    assert not (any(twice) and none_repeats_a_name("".join(lines).encode()))


@pytest.mark.parametrize("count", [1, 4000], ids=["short", "long"])
def test_a_history_with_a_field_twice_is_refused(tmp_path: Path, count: int) -> None:
    path = tmp_path / "history.jsonl"
    events = [
        f'{{"time":{time},"process":0,"type":"{kind}","f":"write","resource":"r","token":{token},"value":{token}}}\n'
        for token in range(1, count + 1)
        for time, kind in ((2 * token, "invoke"), (2 * token + 1, "ok"))
    ]
    path.write_text(WITH_A_FENCE + "".join(events))
    assert read(path).operations

    events[-1] = events[-1].replace('"token"', '"value":7,"token"')
    path.write_text(WITH_A_FENCE + "".join(events))

    with pytest.raises(HistoryError, match=f":{2 * count + 1}: a field that occurs twice, in: "):
        read(path)


def test_a_header_with_a_field_twice_is_refused() -> None:
    with pytest.raises(HistoryError, match="history:1: a field that occurs twice"):
        parse([WITH_A_FENCE.replace('"fenced":true', '"policy":"inclusive"')])
