"""Where people start to read, no sentence is longer than thirty words: first paragraphs, and some whole pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.prose import first_paragraph, paragraphs, sentences
from tests.support.repository import ROOT

MOST = 30
PAGES = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md")
READ_WHOLE = (ROOT / "README.md", ROOT / "docs/tutorial.md", ROOT / "docs/nightly.md")


def too_long(paragraph: str) -> list[str]:
    return [sentence for sentence in sentences(paragraph) if len(sentence.split()) > MOST]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_begins_with_a_paragraph_of_short_sentences(page: Path) -> None:
    first = first_paragraph(page.read_text(encoding="utf-8"))

    assert first, "a page says first what it is about"
    assert too_long(first) == []


@pytest.mark.parametrize("page", READ_WHOLE, ids=lambda page: page.name)
def test_a_page_that_is_read_whole_has_short_sentences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert [long for paragraph in paragraphs(text) for long in too_long(paragraph)] == []


@pytest.mark.parametrize(
    ("paragraph", "count"),
    [
        ("One. Two `a.b` and three.", 2),
        ("See docs/a.md for it. `b` is next.", 2),
        ("A list, e.g. of versions 3.11 to 3.13.", 1),
    ],
)
def test_sentences_end_where_another_begins(paragraph: str, count: int) -> None:
    assert len(sentences(paragraph)) == count


def test_the_first_paragraph_is_what_stands_under_the_title() -> None:
    assert first_paragraph("# Title\n\nWords with `code` and [a link](a.md).\n\nMore.\n") == (
        "Words with `code` and a link."
    )
    assert first_paragraph("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nWords.\n") == ""
