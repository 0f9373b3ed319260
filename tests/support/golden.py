"""The terminal output and the page of each recorded run, as text, in a golden file next to the recording.

    make golden        # or: .venv/bin/python -m tests.support.golden [NAME...]

writes the current texts. Read the difference before you commit it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

from harness.files.environment import repetition_in
from harness.report import verdict_text
from harness.run.recheck import recheck
from tests.support.recorded_runs import RECORDINGS, ROOT, recorded, unpack

_SKIPPED = {"style", "script", "figure", "button", "select", "pre", "caption", "title"}
_VOID = {"meta", "link", "br", "input", "img", "hr"}
_BLOCKS = {"p", "li", "tr", "dt", "dd", "summary", "h1", "h2", "h3", "h4", "div"}
_HEADS = {"h1": "# ", "h2": "## ", "h3": "### ", "li": "- ", "summary": "> ", "dt": "* "}
_OPEN = {"proof", "primer"}
_PLACE = "RUNS"


def golden(name: str) -> Path:
    """The golden file of a recorded run."""
    return RECORDINGS / f"{name}.txt"


def said(name: str) -> str:
    """The texts about a recorded run, judged again: on the terminal, then on the page."""
    with tempfile.TemporaryDirectory() as runs:
        run = unpack(name, Path(runs))
        judged = recheck(run)
        report = run / "report.html"
        terminal = verdict_text.verdict_lines(
            verdict_text.JudgedRun(
                target=judged.history.header.target,
                document=judged.document,
                history=judged.history,
                folder=run,
                report=report,
                seed=judged.history.header.seed,
                repetition=repetition_in(run),
            )
        )
        lines = [
            "=== terminal ===",
            "",
            *(f"{' ' * line.indent}{line.text}".rstrip() for line in terminal),
            "",
            "=== page ===",
            "",
            *page_text(report.read_text(encoding="utf-8")),
        ]
        return "\n".join(lines).replace(runs, _PLACE) + "\n"


def page_text(page: str) -> Iterator[str]:
    """The page as lines of text: of findings with the same cause, only the first in full."""
    reader = _Reader()
    reader.feed(page)
    kept = _first_of_each(reader.articles, reader.groups)
    for line, article in reader.lines:
        if article is None or article in kept:
            yield line


def _first_of_each(articles: list[str], groups: list[str]) -> set[str]:
    return set(groups) if groups else set(articles[:1])


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
            self._folded = given.get("class") not in _OPEN
        folded = self._folded and tag in {"div", "dl", "p", "ol"}
        return folded or tag in _SKIPPED or "hidden" in given or given.get("class") == "skip"

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


def main(names: Iterable[str]) -> None:
    """Write the golden files that are named, or all of them."""
    os.chdir(ROOT)
    for name in names or recorded():
        golden(name).write_text(said(name), encoding="utf-8")
        sys.stdout.write(f"{golden(name).relative_to(ROOT)}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    main(parser.parse_args().names)
