"""A repeated field is ambiguous: the line is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.reader import parse, read
from checkers.history.repeated_names import none_repeats_a_name, repeats_a_name
from checkers.text.errors import HistoryError

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
HEADER = (
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
    path.write_text(HEADER + "".join(events))
    assert read(path).operations

    events[-1] = events[-1].replace('"token"', '"value":7,"token"')
    path.write_text(HEADER + "".join(events))

    with pytest.raises(HistoryError, match=f":{2 * count + 1}: a field that occurs twice, in: "):
        read(path)


def test_a_header_with_a_field_twice_is_refused() -> None:
    with pytest.raises(HistoryError, match="history:1: a field that occurs twice"):
        parse([HEADER.replace('"fenced":true', '"policy":"inclusive"')])
