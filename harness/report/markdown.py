"""Text that others wrote, made inert in GitHub's Markdown.

A backslash does not do it: GitHub looks for mentions, issues, commits and addresses in the finished
page, where the backslash is gone. Nothing is live in a code span, so every word that is not plain prose
becomes one, with the words beside it that are not plain either; brackets and punctuation around them
stay outside. What is plain is listed here; what is live is GitHub's to extend.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from checkers.text.printable import line

_PLAIN = re.compile(
    r"""[("']*(?:--(?=[a-z]))?  # as in "--campaign"
    (?:[^\W\d_] | [^\x00-\x7f] | \d  # letters, signs beyond ASCII such as × and –, digits
      | (?<=[^\W_])'(?=[^\W_]) | (?<=[^\W\d_])-(?=[^\W\d_])  # as in "r1's" and "stale-write"
      | (?<=\d)[.,](?=\d))*
    [)"',.;:!?%]*""",
    re.VERBOSE,
)
_LINKED = re.compile(r"[0-9a-f]{7,}|www\.", re.IGNORECASE)
"""A commit, if the repository has it; GitHub takes `www.` alone for an address."""
_ITEM = re.compile(r"\d+[.)]")
"""Of a numbered list, if it begins a line."""
_TICKS = re.compile("`+")


def inert(text: str) -> str:
    """One line of Markdown that shows a text literally, wherever it is put but in a table."""
    words = line(text).split()
    known = [bool(at or not _ITEM.fullmatch(word)) and _is_plain(word) for at, word in enumerate(words)]
    runs = groupby(zip(known, words, strict=True), key=itemgetter(0))
    shown = ((plain, " ".join(word for _, word in run)) for plain, run in runs)
    return " ".join(run if plain else _within_punctuation(run) for plain, run in shown)


def code(text: str) -> str:
    """A code span that shows a text literally."""
    return _span(line(text))


def in_table(markdown: str) -> str:
    """Markdown for a cell of a table, in which a stroke would end the cell, even in a code span."""
    return markdown.replace("|", r"\x7c")


def row(cells: Iterable[str]) -> str:
    """A row of a table; the cells are Markdown."""
    return f"| {' | '.join(map(in_table, cells))} |"


def _is_plain(word: str) -> bool:
    return bool(_PLAIN.fullmatch(word)) and not _LINKED.search(word)


def _within_punctuation(run: str) -> str:
    """A code span between its brackets and punctuation; a bracket stays with the one that it belongs to."""
    quoted = run.rstrip(",.;:!?")
    bare = quoted.removeprefix("(").removesuffix(")")
    if bare.count("(") == bare.count(")"):
        quoted = bare
    before, _, after = run.partition(quoted)
    return f"{before}{_span(quoted)}{after}"


def _span(shown: str) -> str:
    ticks = "`" * (1 + max(map(len, _TICKS.findall(shown)), default=0))
    pad = " " if not shown or "`" in {shown[0], shown[-1]} else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"
