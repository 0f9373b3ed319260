"""Commit logs: read as columns with the same commits or error as line by line, and nothing of them is lost."""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history import commit_columns, commits, growing
from checkers.history.commit_columns import Commits
from checkers.history.commits import read_commits
from checkers.history.plain_text import IrregularError
from checkers.history.reader import parse
from checkers.history.records import Commit
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from tests.support.broken_storages import KINDS
from tests.support.events import GOOD
from tests.support.storage_runs import simulate

LINES = [
    '{"seq":1,"resource":"r0","token":3,"value":"a"}',
    '{"seq":2,"resource":"r0","token":null,"value":null}',
    '{"seq":3,"resource":"r0","token":3,"fence":true}',
    '{"seq":4,"resource":"r0","token":9223372036854775807,"value":null,"fence":true}',
    '{"seq":5,"resource":"r0","token":0,"value":"","fence":false}',
    '{"seq":1,"resource":"r1","value":"0-1.0"}',
]
PIECES = [
    *('"', "{", "}", ":", ",", "\n", " ", "\\", "é", "0", "-1", "1.5", "null", "true", "false", "7", '"x"', "[]"),
    *('"fence":true,', '"token":2,', '"value":"b",', '"other":1,', '"seq":2,', "9223372036854775808"),
]  # fmt: skip


def refuse(_file: object, _name: str) -> NoReturn:
    raise IrregularError


def result(path: Path, *, carefully: bool) -> str | tuple[Commit, ...]:
    """The commits, or what is wrong with them."""
    with pytest.MonkeyPatch.context() as patch:
        if carefully:
            patch.setattr(commits, "_scanned", refuse)
        patch.setattr(growing, "CHUNK", 90)
        try:
            return tuple(read_commits(path))
        except HistoryError as error:
            return str(error)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_long_log_is_read_as_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separators: Any
) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text("".join(json.dumps(json.loads(line), separators=separators) + "\n" for line in LINES))
    expected = result(path, carefully=True)
    monkeypatch.setattr(commits, "_parsed", refuse)

    found = read_commits(path)

    assert tuple(found) == expected
    assert found[1:5:2] == expected[1:5:2]


@settings(deadline=None)  # each example writes files
@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=6, unique=True),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 9), st.sampled_from(PIECES)), max_size=2),
)
def test_an_edited_log_gives_the_same_commits_or_the_same_error(lines: Any, edits: Any) -> None:
    text = "".join(f"{line}\n" for line in lines)
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "commits.jsonl"
        path.write_text(text)

        assert result(path, carefully=False) == result(path, carefully=True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"seq":5,"resource":"r0","token":3,"value":"b"}', "seq 5 does not come after 5"),
        ('{"seq":6,"resource":"r0","fence":true}', "a fence needs a `token`"),
        ('{"seq":6,"resource":"r0","token":3,"value":"b","fence":true}', "a fence stores no value"),
        ('{"seq":6,"resource":"r0","token":3,"value":"b","fence":null}', "Expected `bool`"),
        ('{"seq":6,"resource":"r0","token":3}', "missing required field `value`"),
        ('{"seq":6,"resource":null,"token":3,"value":"b"}', "Expected `str`"),
        ('{"seq":null,"resource":"r0","token":3,"value":"b"}', "Expected `int`"),
        ('{"resource":"r0","token":3,"value":"b"}', "missing required field `seq`"),
        ('{"seq":6,"seq":7,"resource":"r0","token":3,"value":"b"}', "occurs twice"),
        ('{"seq":6,"resource":"r0","tok', "only half written"),
    ],
)
def test_a_wrong_line_of_a_long_log_is_named(tmp_path: Path, line: Any, says: Any) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text("\n".join((*LINES, line)))

    with pytest.raises(HistoryError, match=says) as refused:
        read_commits(path)

    assert refused.value.line == len(LINES) + 1


def test_commits_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text(
        '{"seq":1,"resource":"r0","token":3,"value":"a"}\n'
        '{"seq":1,"resource":"r1","token":3,"value":"b"}\n'
        '{"seq":9,"resource":"r0","token":4,"value":7}\n'
    )

    commits = read_commits(path)

    assert [(each.seq, each.resource, each.token, each.value) for each in commits] == [
        (1, "r0", 3, "a"),
        (1, "r1", 3, "b"),
        (9, "r0", 4, 7),
    ]
    assert commits[2].line == 3


def test_fences_are_read_in_their_order_among_the_commits(tmp_path: Path) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text(
        '{"seq":1,"resource":"r0","token":3,"value":null}\n'
        '{"seq":2,"resource":"r0","token":4,"fence":true}\n'
        '{"seq":3,"resource":"r0","token":5,"value":"a","fence":false}\n'
    )

    commits = read_commits(path)

    assert [(each.token, each.value, each.fence) for each in commits] == [
        (3, None, False),
        (4, None, True),
        (5, "a", False),
    ]


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ('{"seq":2,"resource":"r0","fence":true}\n', "a fence needs a `token`"),
        ('{"seq":2,"resource":"r0","token":3,"value":"b","fence":true}\n', "a fence stores no value"),
        ('{"seq":2,"resource":"r0","token":3,"value":"b","fence":1}\n', "Expected `bool`"),
        ('{"seq":1,"resource":"r0","token":3,"value":"b"}\n', "seq 1 does not come after 1"),
        ('{"seq":2,"resource":"r0","token":3}\n', "missing required field `value`"),
        ('{"seq":2,"resource":"r0","tok', "only half written"),
    ],
)
def test_a_wrong_commit_is_refused(tmp_path: Path, second: str, says: str) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text('{"seq":1,"resource":"r0","token":3,"value":"a"}\n' + second)

    with pytest.raises(HistoryError, match=says) as refused:
        read_commits(path)

    assert refused.value.line == 2


@pytest.mark.parametrize(
    ("commit", "says"),
    [
        ('"r0","token":33,"value":"zz"', "'zz' was committed, but the history has no write of it"),
        ('"r0","token":33,"fence":true', "token 33 was committed, but the history has none of it"),
        (
            '"r1","token":33,"value":"a"',
            "to r1 with token 33, but line 4 of the history wrote it to r0 with token 33",
        ),
        (
            '"r0","token":34,"value":"a"',
            "to r0 with token 34, but line 4 of the history wrote it to r0 with token 33",
        ),
    ],
)
def test_a_commit_that_the_history_does_not_know_is_refused(tmp_path: Path, commit: str, says: str) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text(f'{{"seq":1,"resource":{commit}}}\n')

    others = "no other commit fits" if "line 4" in says else "none that fits any other commit"
    with pytest.raises(HistoryError, match=f"{says}, and {others}; are these the commits of") as refused:
        judge(parse(GOOD), read_commits(path))

    assert (refused.value.file, refused.value.line) == (str(path), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_commits_come_back_from_their_columns(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(20):
        commits = simulate(rng, kind).commits

        assert tuple(Commits.of(commits)) == commits


def test_commits_of_several_resources_keep_their_order_lines_and_file() -> None:
    commits = tuple(
        Commit(seq=seq, resource=f"r{seq % 2}", token=None, value=value, line=seq, file="f")
        for seq, value in enumerate([1, "1", None, ("a", 1)])
    )

    assert tuple(Commits.of(commits)) == commits
    assert Commits.of(commits)[1:3] == commits[1:3]
    assert Commits.of(commits)[-1] == commits[-1]


def test_commits_are_made_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_columns, "_AT_ONCE", 2)
    commits = tuple(Commit(seq=seq, resource="r0", token=seq, value=seq) for seq in range(5))

    assert tuple(Commits.of(commits)) == commits


def test_columns_of_commits_are_used_as_they_are() -> None:
    commits = Commits.of([])

    assert Commits.of(commits) is commits
    assert tuple(commits) == ()
