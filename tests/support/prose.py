"""The sentences of a Markdown page, as a reader counts them: a code span or a link's text is its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, takewhile

from markdown_it import MarkdownIt
from markdown_it.token import Token

_SPOKEN: Mapping[str, Callable[[str], str]] = {
    "text": str,
    "code_inline": "`{}`".format,
    "softbreak": lambda _: " ",
    "hardbreak": lambda _: " ",
}
_END = re.compile(r"(?<=[.!?])[\")*]*\s+(?=[\"(*]*[A-Z0-9`])")


def paragraphs(page: str) -> Iterator[str]:
    """Yield the text of each paragraph and list item, without tables and code blocks."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(page)
    for before, token in pairwise(tokens):
        if before.type == "paragraph_open":
            yield _spoken(token)


def first_paragraph(page: str) -> str:
    """Return the paragraph under the title; a page that starts with anything else has none."""
    tokens = iter(MarkdownIt("gfm-like", {"linkify": False}).parse(page))
    list(takewhile(lambda token: token.type != "heading_close", tokens))
    shown = (token for token in tokens if token.type != "html_block")
    return _spoken(next(shown)) if next(shown).type == "paragraph_open" else ""


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph where a sentence ends and another begins."""
    return _END.split(paragraph)


def _spoken(inline: Token) -> str:
    return "".join(
        _SPOKEN[child.type](child.content) for child in inline.children or () if child.type in _SPOKEN
    )
