"""What no Markdown may contain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from fuzzing.hostile.broken import Broken, characters, lines
from fuzzing.hostile.payloads import Payload

_TAKES_EFFECT = {
    "a mention": re.compile(r"(?<![\w`/.@-])@[A-Za-z0-9]"),
    "an issue": re.compile(r"(?<![\w`&])(?:#|GH-)\d|\w/\w+#\d"),
    "a URL": re.compile(r"https?://\w|ftp://\w|(?<![\w.])www\.\w|\w@\w+\.\w", re.IGNORECASE),
    "math": re.compile(r"\$[^\s$][^$]*\$"),
}
"""What GitHub or GitLab do with plain text, outside of code."""
_STRUCTURE = {"text", "code_inline", "text_special", "softbreak", "inline"}


def markdown(text: str, harmless: str, payload: Payload) -> Iterator[Broken]:
    """No link, picture, element, emphasis or mention, and no more structure than without the text."""
    yield from characters(text)
    yield from lines(text, payload)
    tokens, before = markdown_tokens(text), Counter(each.type for each in markdown_tokens(harmless))
    allowed = before if harmless else None
    for name, number in Counter(each.type for each in tokens).items():
        if name not in _STRUCTURE and allowed is not None and number > allowed[name]:
            yield Broken("additional Markdown", f"{number} × {name} instead of {allowed[name]}")
        if name in {"image", "html_inline", "html_block", "link_open", "em_open", "strong_open", "s_open"}:
            yield Broken("Markdown of a stranger", name)
    for token in tokens:
        if token.type == "text":
            for what, pattern in _TAKES_EFFECT.items():
                if at := pattern.search(token.content):
                    yield Broken(what, repr(token.content[max(0, at.start() - 20) : at.end() + 20]))


def markdown_tokens(text: str) -> list[Token]:
    """Parse Markdown as GitHub does, without what it does to plain text afterwards."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return list(_flat(parser.parse(text)))


def _flat(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield all tokens; adjacent texts as one, because escapes split them."""
    joined = ""
    for token in tokens:
        if token.type in {"text", "text_special"}:
            joined += token.content
            continue
        if joined:
            yield Token("text", "", 0, content=joined)
        joined = ""
        yield token
        yield from _flat(token.children or ())
    if joined:
        yield Token("text", "", 0, content=joined)
