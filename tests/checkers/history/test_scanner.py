"""The scanner reads what a parser reads, or leaves it to the parser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from checkers.history import plain_text
from checkers.history.columns import ABSENT, FUNCTIONS, OUTCOMES, Numbers
from checkers.history.event_columns import read_chunk, tables_of
from checkers.history.jsonl import Line, decode
from checkers.history.lines import PlainLine
from checkers.history.plain_text import IrregularError
from checkers.history.scanner import Scan
from tests.support.literal_histories import LITERAL
from tests.support.selection import seeds
from tests.support.simulation import Simulation

CLIENT = msgspec.json.Decoder(PlainLine)
NAMES = (
    *("f", "type", "time", "process", "token", "ttl", "attempt"),
    *("resource", "owner", "value", "error"),
)
PLAIN = '{"time":1,"process":0,"type":"ok","f":"write","resource":"r0","token":1,"value":"a","error":null}'
LINES = [
    '{"time":1,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"a-1"}',
    '{"time":2,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"a-1","token":3,"ttl":5,"attempt":1}',
    '{"time":2,"process":1,"type":"fail","f":"renew","resource":"r0","owner":"a-1","ttl":null,"error":"lost"}',
    '{"time":3,"process":0,"type":"ok","f":"release","resource":"r0","owner":"a-1"}',
    '{"time":3,"process":0,"type":"info","f":"revoke","resource":"r0","owner":"a-1","error":"timed out: 5, no}"}',
    '{"time":4,"process":0,"type":"invoke","f":"write","resource":"r1","token":3,"value":"0-1.0"}',
    '{"time":4,"process":0,"type":"invoke","f":"write","resource":"r1","value":null}',
    '{"time":4,"process":0,"type":"ok","f":"fence","resource":"r1","token":9223372036854775807}',
    '{"time":4,"process":0,"type":"invoke","f":"read","resource":"r1"}',
    '{"f":"read","time":5,"type":"ok","process":0,"value":"","token":0,"resource":""}',
]  # fmt: skip
HOSTILE = [
    *('"', "\\", "\\u0061", "{", "}", "[", "]", ":", ",", " ", "\t", "\r", "\n", "\0", "\x7f", "é", "\ufeff"),
    *("0", "-", "-0", "01", "1.0", "1e3", "NaN", "true", "false", "null", "[]", "{}", '""', '"nemesis"'),
    *("9223372036854775807", "9223372036854775808", "18446744073709551617", "9007199254740993", "0" * 30),
    *('"f"', '"token":', '"value":1', ',"error":null', '"unknown":1', "}\n{", '":"', "é" * 30, "x" * 60),
]


def scanned(text: bytes) -> dict[str, list[Any]]:
    """The fields of all lines by the scanner; ABSENT where a line lacks one."""
    tables = tables_of("start")
    found = {name: column.tolist() for name, column in read_chunk(text, tables).items()}
    names: dict[str, Sequence[Any]] = {name: list(table) for name, table in tables.items()}
    names |= {"f": FUNCTIONS, "type": (*OUTCOMES, "invoke")}
    for name, table in names.items():
        found[name] = [ABSENT if number == ABSENT else table[number] for number in found[name]]
    return found


def parsed(text: bytes) -> dict[str, list[Any]]:
    """The same by the careful reader's parser."""
    lines = [Line("f", number, each) for number, each in enumerate(text.splitlines(keepends=True), start=1)]
    events = [decode(line, CLIENT) for line in lines]
    return {name: [_field(event, name) for event in events] for name in NAMES}


def _field(event: Any, name: str) -> Any:
    if name == "f":
        return event.__struct_config__.tag
    found = getattr(event, name, ABSENT)
    is_absent = found is UNSET or (found is None and name != "value")
    return ABSENT if is_absent else found


def check_agrees(text: bytes) -> bool:
    """Does the scanner read it? Then the parser must read the same."""
    try:
        found = scanned(text)
    except IrregularError:
        return False
    assert found == parsed(text), text
    return True


def spaced(lines: str) -> str:
    return "".join(json.dumps(json.loads(line)) + "\n" for line in lines.splitlines())


@pytest.mark.parametrize("layout", [str, spaced])
def test_every_kind_of_line_is_plain(layout: Any) -> None:
    for lines in (LINES, LINES[::-1], *([line] for line in LINES)):
        assert check_agrees(layout("".join(f"{line}\n" for line in lines)).encode())


@pytest.mark.parametrize("seed", seeds(4))
def test_lines_of_a_recorder_are_plain(seed: Any) -> None:
    lines = [line for line in Simulation(seed=seed).lines() if '"nemesis"' not in line]

    assert check_agrees("".join(lines[1:]).encode())


@pytest.mark.parametrize(
    "line",
    [
        PLAIN.replace('"token":1', f'"token":{token}')
        for token in ("-1", "-0", "01", "1.0", "1e3", "NaN", "true", "9223372036854775808", "[]", '"1"', "1 ")
    ]
    + [
        PLAIN.replace('"value":"a"', f'"value":{value}')
        for value in (
            '"\\u0061"',
            '"a\\"b"',
            '"é"',
            '"\t"',
            '"\0"',
            '"\r"',
            '"\n"',
            '["a"]',
            "{}",
            "1",
            "nul",
        )
    ]
    + [
        PLAIN.replace('"token":1', '"token":1,"token":1'),
        PLAIN.replace('"error":null', '"value":"b"'),
        PLAIN.replace('"error":null', '"unknown":1'),
        PLAIN.replace('"error":null', '"timeouts":1'),
        PLAIN.replace('"error":null', '"attempt":1'),
        PLAIN.replace('"error":null', '"ttl":1'),
        PLAIN.replace('"time":1,', ""),
        PLAIN.replace('"value":"a",', ""),
        PLAIN.replace('"resource":"r0"', '"resource":null'),
        PLAIN.replace('"process":0', '"process":null'),
        PLAIN.replace('"type":"ok"', '"type":"OK"'),
        PLAIN.replace('"f":"write"', '"f":"append"'),
        PLAIN.replace('"f":"write"', '"f":null'),
        PLAIN.replace(',"token"', ', "token"'),
        PLAIN.replace(':"r0"', ': "r0"'),
        PLAIN.replace("}", ",}"),
        PLAIN.replace("}", " }"),
        PLAIN.replace("}", "}}"),
        PLAIN.replace("{", "[").replace("}", "]"),
        PLAIN.replace('"time":1', '"time":1,'),
        PLAIN.replace('"time":1', '"time"1'),
        PLAIN + PLAIN,
        PLAIN + " ",
        PLAIN + "\r",
        " " + PLAIN,
        "\ufeff" + PLAIN,
        "",
        "{}",
        '"',
        '""',
        PLAIN[:-1],
        PLAIN[:-6],
    ],
)
def test_other_lines_are_left_to_the_parser(line: Any) -> None:
    for lines in ([line], [PLAIN, line], [line, PLAIN], [PLAIN, line, PLAIN]):
        with pytest.raises(IrregularError):
            scanned("".join(f"{each}\n" for each in lines).encode())


@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 12), st.sampled_from(HOSTILE)), max_size=3),
    st.sampled_from([str, spaced]),
)
def test_edited_lines_are_read_alike_or_not_at_all(lines: Any, edits: Any, layout: Any) -> None:
    text = layout("".join(f"{line}\n" for line in lines))
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]

    check_agrees(f"{text}\n".encode())


@given(st.lists(st.integers(0, (1 << 63) - 1), min_size=1))
def test_integers_are_exact(numbers: Any) -> None:
    text = "".join(f'{{"seq":{number}}}\n' for number in numbers)

    assert Scan.of(text.encode(), ["seq"]).fields["seq"].integers().tolist() == numbers


TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=127, exclude_characters='"\\'), max_size=60)


@pytest.mark.parametrize("mixer", [plain_text._MIXER, plain_text._MIXER * 0])
@given(texts=st.lists(st.one_of(TEXTS, TEXTS.map(lambda text: "-" * 45 + text))))
def test_different_strings_get_different_numbers(mixer: Any, texts: list[Any]) -> None:
    """Also if all of them have the same hash, or begin alike."""
    texts = [*texts, *texts[::2], "a"]
    lines = "".join(f'{{"value":"{text}"}}\n' for text in texts)
    table = Numbers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "_MIXER", mixer)
        numbers = Scan.of(lines.encode(), ["value"]).fields["value"].numbers(table)

    assert [list(table)[number] for number in numbers] == texts
    assert list(table) == list(dict.fromkeys(texts)), "in the order in which they are first seen"


@pytest.mark.slow
@pytest.mark.parametrize("path", LITERAL.values(), ids=LITERAL)
def test_literal_histories_are_read_alike(path: Any) -> None:
    for line in path.read_bytes().splitlines(keepends=True)[1:]:
        check_agrees(line)


def test_a_line_over_the_limit_is_not_plain() -> None:
    line = PLAIN.replace('"a"', f'"{"a" * (1 << 20)}"')

    with pytest.raises(IrregularError):
        scanned(f"{line}\n".encode())


def test_each_field_is_found_in_the_lines_that_have_it() -> None:
    lines: list[dict[str, int | None]] = [
        {"a": 1},
        {"bb": None, "a": 2},
        {"longname": 3},
        {"a": None, "longname": 4, "bb": 5},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    found = Scan.of(text.encode(), ["a", "bb", "longname", "none"])

    for name, field in found.fields.items():
        values = [None if value == ABSENT else value for value in field.integers().tolist()]
        having = {at: line[name] for at, line in enumerate(lines) if name in line}
        assert dict(zip(field.lines.tolist(), values, strict=True)) == having
