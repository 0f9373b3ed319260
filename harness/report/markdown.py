"""Text that others wrote, made inert in GitHub's Markdown.

A backslash does not do it: GitHub looks for mentions, issues, commits and addresses in the finished
page, where the backslash is gone. Nothing is live in a code span, so every word that is not plain prose
becomes one, with the words beside it that are not plain either. What is plain is listed here; what is
live is GitHub's to extend.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

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
_ITEM = re.compile(r"\d+[.)]+")
"""Of a numbered list, if it begins a line."""
_TICKS = re.compile("`+")


def inert(text: str) -> str:
    """One line of Markdown that shows a text literally, wherever it is put but in a table."""
    words = line(text).split()
    runs = ((plain, " ".join(run)) for plain, run in groupby(words, _is_plain))
    return " ".join(run if plain else _span(run) for plain, run in runs)


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
    return bool(_PLAIN.fullmatch(word)) and not (_LINKED.search(word) or _ITEM.fullmatch(word))


def _span(shown: str) -> str:
    ticks = "`" * (1 + max(map(len, _TICKS.findall(shown)), default=0))
    pad = " " if not shown or "`" in {shown[0], shown[-1]} else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"
