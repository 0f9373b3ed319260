"""Documentation pages: their sentences as a reader counts them, and their blocks as a reader would run them."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.challenged import repeated

BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL
)
NUMBER = re.compile(r"\d+(?:\\\.\d+)?")
PYTEST_MINUTES = re.compile(r"(?<=s) \(\d+:\d\d:\d\d\)$", re.MULTILINE)
"""What pytest adds to its summary once the tests took a minute."""
NOT_INHERITED = ("PYTEST", "MAKE", "CI", "BUILD_NUMBER")
"""Variables that a reader does not set: in CI, pytest does not shorten its summary."""
END = "--- the end of its output"
DRY = {"make install": "make --dry-run install"}
"""Commands that are not run as they are: the tests run in what `make install` has installed."""


class Shell:
    """One bash from the first command of a page to the last."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
        self._bash = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=inherited | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, line: str) -> str:
        """Run a command, and return its output; the next command has its status in `$?`."""
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f'{DRY.get(line, line)}\nstatus=$?; echo "{END}"; (exit $status)\n')
        self._bash.stdin.flush()
        printed = iter(self._bash.stdout.readline, "")
        return "".join(itertools.takewhile(lambda printed_line: printed_line != f"{END}\n", printed))

    def close(self) -> None:
        self._bash.kill()
        self._bash.communicate()


@contextmanager
def shell(folder: Path, **environment: str) -> Iterator[Shell]:
    """A bash in a folder, with more environment variables."""
    opened = Shell(folder, environment)
    try:
        yield opened
    finally:
        opened.close()


def follow(page: Path, opened: Shell, folder: Path) -> None:
    """Save each file of a page below `folder`, and compare what each command prints with the page."""
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        match block["kind"]:
            case "console":
                _run(block["text"], opened)
            case "diff":
                file = folder / block["file"]
                file.write_text(_patched(file.read_text(), block["text"]))
            case _:
                (folder / block["file"]).write_text(block["text"])


def _run(block: str, opened: Shell) -> None:
    """Run the lines that begin with `$`; a command without shown output may print anything."""
    for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *shown = each.splitlines()
        printed = PYTEST_MINUTES.sub("", repeated(partial(opened.run, line), _was_not_exercised))
        assert not shown or re.fullmatch(_pattern(shown), printed), f"$ {line}\n{printed}"


def _was_not_exercised(printed: str) -> bool:
    """Is it the output of a run that was too short on a loaded machine?"""
    return "Not tested" in printed


def _pattern(shown: list[str]) -> str:
    """The shown output as a regular expression: any number for a number, anything for `...`."""
    lines = [NUMBER.sub(r"[\\d.]+", re.escape(line)).replace(r"\.\.\.", ".*") for line in shown]
    return "".join("(?:.*\n)*" if line == ".*" else f"{line}\n" for line in lines)


def _patched(text: str, diff: str) -> str:
    """Apply a diff that has one hunk and no line numbers."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] in " -")
    new = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(old) == 1
    return text.replace(old, new)


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
