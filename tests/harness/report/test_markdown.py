"""Lines that people can read, and what others wrote in GitHub's Markdown, where it does nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from checkers.text.printable import line
from harness.report.lines import WIDTH, LineTone, StyledLine, wrapped
from harness.report.markdown import code, inert, row

TEXTS = st.lists(st.text("abc-.é", min_size=1, max_size=12), min_size=1, max_size=80).map(" ".join)


@given(TEXTS, st.integers(0, 15), st.integers(40, 120))
def test_a_wrapped_line_keeps_its_words_tone_and_indent(text: str, indent: int, width: int) -> None:
    parts = list(wrapped([StyledLine(text, LineTone.BAD, indent)], width))

    assert " ".join(part.text for part in parts) == text
    assert all(len(str(part)) <= width for part in parts)
    assert {(part.tone, part.indent) for part in parts} == {(LineTone.BAD, indent)}


def test_a_command_is_never_wrapped() -> None:
    command = StyledLine("fencepost run " + "x " * WIDTH, LineTone.COMMAND)

    assert list(wrapped([command])) == [command]


def test_a_number_stays_with_its_unit() -> None:
    assert [part.text for part in wrapped([StyledLine("was killed at 1.611 s, and came back")], 20)] == [
        "was killed at",
        "1.611 s, and came",
        "back",
    ]


def test_a_control_character_is_escaped_before_the_columns_are_counted() -> None:
    (first, second) = wrapped([StyledLine(f"{'a' * 15} \x1b[31mred")], 20)

    assert (first.text, second.text) == ("a" * 15, r"\x1b[31mred")


def test_an_empty_line_stays() -> None:
    assert list(wrapped([StyledLine("")])) == [StyledLine("")]


LIVE = {
    "a mention": "thanks @octocat",
    "an issue": "fixes #1",
    "an issue by its letters": "GH-1",
    "an issue elsewhere": "octo/repo#1",
    "a commit": "see 1cf4f21ab",
    "an address": "https://evil.example/x",
    "an address without a scheme": "www.evil.example",
    "the begin of an address": "www. evil",
    "mail": "me@evil.example",
    "a link": "[x](https://evil.example)",
    "an image": "![x](https://evil.example/x.png)",
    "HTML": "<img src=x onerror=alert(1)>",
    "an entity": "&lt;b&gt;",
    "struck words": "~~gone~~",
    "math": "$x^2$ and $$y$$",
    "an emoji": ":tada:",
    "emphasis": "*a* _b_ **c** __d__",
    "code": "`a` ``b`` ```",
    "a heading": "# big",
    "a heading below": "===",
    "a quotation": "> said",
    "an item": "1. one",
    "a bullet": "- one",
    "a task": "- [x] done",
    "a footnote": "[^1]",
    "a table": "a | b",
    "a backslash before a stroke": r"a\|b",
    "lines": "a\n\n# b",
}
WORDS = st.sampled_from([*LIVE.values(), "plain", "it's", "0.5", "stale-write", "(a", "b)", "`", "\\"])
SYNTAX = re.compile(r"[@#$~\\*_|`\[\]<>{}=+&/]|\bwww\.")
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def parsed(markdown: str) -> tuple[set[str], str, str]:
    """The kinds of a text's elements, all of its text, and its text outside of code spans."""
    tokens = PARSER.parse(markdown)
    inside = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inside)}
    prose = " ".join(child.content for child in inside if child.type == "text")
    return kinds, "".join(child.content for child in inside), prose


@pytest.mark.parametrize("text", LIVE.values(), ids=LIVE)
def test_nothing_that_is_live_stays_outside_of_code(text: str) -> None:
    kinds, shown, prose = parsed(inert(text))

    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "code_inline"}
    assert shown.split() == line(text).split()
    assert "code_inline" in kinds
    assert not SYNTAX.search(prose)


@given(st.lists(WORDS | st.text(max_size=5), max_size=8).map(" ".join))
def test_any_text_is_shown_literally(text: str) -> None:
    kinds, shown, prose = parsed(inert(text))

    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "code_inline"}
    assert shown.split() == line(text).split()
    assert not SYNTAX.search(prose)


@given(st.lists(WORDS | st.text(max_size=5), max_size=5).map(" ".join))
def test_no_text_ends_a_cell_of_a_table(text: str) -> None:
    tokens = PARSER.parse("\n".join([row(["a", "b"]), row(["---", "---"]), row([inert(text), code(text)])]))

    assert [token.type for token in tokens].count("td_open") == 2
    assert not SYNTAX.search(
        " ".join(child.content for each in tokens for child in each.children or () if child.type == "text")
    )


def test_plain_prose_stays_prose() -> None:
    prose = "Client 1's stale-write, at 0.05–2.26 s (token 2), replaced a newer one: see below!"

    assert inert(prose) == prose
    assert inert("etcd-1 did not get healthy") == "`etcd-1` did not get healthy"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as is certain (line 27).", "as is certain (line 27)."),
        ("which is above 3.", "which is above 3."),
        ("3. is above", "`3`. is above"),
        ("plan 0fa833990ada, seed 7", "plan `0fa833990ada`, seed 7"),
        ("(plan 0fa833990ada): red", "(plan `0fa833990ada`): red"),
        ("(0fa833990ada)", "(`0fa833990ada`)"),
        ("it raised Grant(attempt=1).", "it raised `Grant(attempt=1)`."),
    ],
)
def test_punctuation_stays_outside_of_code(text: str, shown: str) -> None:
    assert inert(text) == shown
