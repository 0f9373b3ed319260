"""Lines of a file: how long they may be, which are cut short, and how a refused one is shown."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from checkers.history.jsonl import MAX_LINE, Line, batches, decode, is_cut_short, read_lines
from checkers.text.errors import HistoryError


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
