"""Whole samples: the terminal output and the page of a few recorded runs, as text.

They show how everything reads together. What each run's page shows is in `page_facts`, and each kind
of sentence about a finding in `golden_words`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from tests.support.reported_runs import Reported

SAMPLES = (
    "etcd-postgres",  # the fence held
    "etcd-postgres-append",  # a lost update in lists
    "etcd-postgres-unfenced",  # a stale write that nothing stopped
    "get-then-del-unlock",  # a lock that was granted too early
    "not-exercised",
    "standby-promoted-while-it-lags",  # writes that a failover lost
)

_SKIPPED = {"style", "script", "figure", "button", "select", "pre", "caption", "title"}
_VOID = {"meta", "link", "br", "input", "img", "hr"}
_BLOCKS = {"p", "li", "tr", "dt", "dd", "summary", "h1", "h2", "h3", "h4", "div"}
_HEADS = {"h1": "# ", "h2": "## ", "h3": "### ", "li": "- ", "summary": "> ", "dt": "* "}
_OPEN = {"proof", "details"}
_OF_THE_MACHINE = {"checkers", "environment"}  # sections that differ from run to run
_PLACE = "RUNS"


def sample(run: Reported) -> list[str]:
    """The lines about a run: on the terminal, then on the page."""
    lines = [
        "--- terminal ---",
        "",
        *(str(line).rstrip() for line in run.terminal),
        "",
        "--- page ---",
        "",
        *page_text(run.html),
    ]
    return [line.replace(run.place, _PLACE) for line in lines]


def page_text(page: str) -> Iterator[str]:
    """The page as lines of text: of findings with the same cause, only the first in full."""
    reader = _Reader()
    reader.feed(page)
    kept = set(reader.groups) if reader.groups else set(reader.articles[:1])
    for line, article in reader.lines:
        if article is None or article in kept:
            yield line


class _Reader(HTMLParser):
    """Gathers lines of text, and in which article each is."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, str | None]] = []
        self.articles: list[str] = []
        self.groups: list[str] = []  # the first finding of each cause
        self._skip: list[str] = []
        self._article: str | None = None
        self._line = ""
        self._in_group = False
        self._folded = False  # in details of which only the summary matters

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self._skip or self._is_unseen(tag, given):
            self._skip += [tag] * (tag not in _VOID)
            return
        if tag == "article":
            self._end_line()
            self._article = given.get("id", "")
            self.articles.append(self._article)
        if tag in _BLOCKS:
            self._end_line()
            self._line = _HEADS.get(tag, "")
        self._line += self._before(tag, given)
        self._note_group(tag, given)

    def _is_unseen(self, tag: str, given: dict[str, str]) -> bool:
        if tag == "details":
            self._folded = not _OPEN & {given.get("class"), given.get("id")}
        folded = self._folded and tag in {"div", "dl", "p", "ol"}
        varies = tag == "section" and given.get("aria-labelledby") in _OF_THE_MACHINE
        return folded or varies or tag in _SKIPPED or "hidden" in given or given.get("class") == "skip"

    def _before(self, tag: str, given: dict[str, str]) -> str:
        """The separator from the preceding text of the line."""
        if tag in {"td", "th"}:
            return " | " if self._line else ""
        return " " if tag == "span" and given.get("class") != "whole" else ""

    def _note_group(self, tag: str, given: dict[str, str]) -> None:
        self._in_group = self._in_group or tag == "li"
        found = re.fullmatch(r"#(finding-\d+)", given.get("href", ""))
        if tag == "a" and self._in_group and self._article is None and found:
            self.groups.append(found[1])
            self._in_group = False

    def handle_endtag(self, tag: str) -> None:
        if self._skip:
            self._skip.pop()
            return
        if tag == "a":
            self._line += " "
        if tag in _BLOCKS:
            self._end_line()
        if tag == "article":
            self._article = None
        if tag == "details":
            self._folded = False

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self._line += re.sub(r"\s+", " ", data)

    def _end_line(self) -> None:
        text = re.sub(r"\s+", " ", self._line).strip(" |")
        if text and text not in {head.strip() for head in _HEADS.values()}:
            if text.startswith("## "):
                self.lines.append(("", self._article))
            self.lines.append((text, self._article))
        self._line = ""
