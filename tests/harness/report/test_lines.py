"""Lines of text, wrapped so that people can read them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.report.lines import WIDTH, LineTone, StyledLine, wrapped

WORDS = st.lists(st.text("abc-.é", min_size=1, max_size=12), min_size=1, max_size=80).map(" ".join)


@given(WORDS, st.integers(0, 15), st.integers(40, 120))
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
