"""Every command that a page shows exists, and takes the options that it is shown with.

What the commands do is tested where their code is: most pages show targets and files of the reader's own.
The tests of the tutorial, of releasing, of the image and of the README run what their pages show.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt

from harness.cli.app import cli
from tests.support.repository import ROOT
from tools.site_pages import ROOT_PAGES

PAGES = sorted(
    {*map(ROOT.joinpath, ROOT_PAGES), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("README.md")}
)
SHELLS = {"", "sh", "console"}
"""The languages of blocks that have commands."""
BEFORE = r"(?:\$ |.*\s\s|.*\bdocker run .*? |(?:[A-Z_]+=\S+ )*)?"
"""What a line may have before a command: a prompt, the words of an output, a container, variables."""
FENCEPOST = re.compile(rf"^{BEFORE}(?:\.venv/bin/)?fencepost ([a-z].*)$", re.MULTILINE)
MAKE = re.compile(rf"^{BEFORE}make ([a-z-]+)", re.MULTILINE)
MODULE = re.compile(
    rf"^{BEFORE}(?:\.venv/bin/)?python -m ((?:benchmarks|fuzzing|tests|tools)\S*)(.*)$", re.MULTILINE
)
OTHERS = {"test-robustness-reports"}
"""Targets of the Makefile of etcd."""
RECIPES = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def shown(pattern: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    """The page of each command, and what the pattern's groups are there."""
    for page in PAGES:
        for code in code_of(page):
            for found in pattern.finditer(code):
                yield str(page.relative_to(ROOT)), *found.groups()


@functools.cache
def code_of(page: Path) -> list[str]:
    """The blocks of a page that may have commands, each on one line, and the code in its sentences."""
    code = []
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.info in SHELLS:
            code.append(token.content.replace("\\\n", " "))
        code += [child.content for child in token.children or () if child.type == "code_inline"]
    return code


@pytest.fixture
def only_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are parsed, but their values are not converted, and nothing runs."""

    def parsed(command: click.Command, context: click.Context, words: list[str]) -> list[str]:
        context.args = command.make_parser(context).parse_args(args=list(words))[1]
        return context.args

    monkeypatch.setattr(click.Command, "parse_args", parsed)
    monkeypatch.setattr(click.Command, "invoke", lambda _command, _context: None)


@pytest.mark.usefixtures("only_parsed")
@pytest.mark.parametrize("line", sorted({line for _, line in shown(FENCEPOST)}))
def test_a_page_shows_commands_that_fencepost_has(line: str) -> None:
    with contextlib.suppress(click.exceptions.NoArgsIsHelpError):  # the name of a group alone
        cli.main(shlex.split(line, comments=True), standalone_mode=False)


@pytest.mark.usefixtures("only_parsed")
@pytest.mark.parametrize("line", ["rnu etcd", "run --fast etcd", "campaign nightly.toml --seed"])
def test_a_command_that_fencepost_does_not_have_is_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        cli.main(shlex.split(line), standalone_mode=False)


def test_a_page_shows_recipes_that_the_makefile_has() -> None:
    named = {*shown(MAKE)}

    assert {name for _, name in named} - OTHERS > {"install", "test", "docs"}
    assert [(page, name) for page, name in named if name not in RECIPES | OTHERS] == []


@pytest.mark.parametrize(("module", "rest"), sorted({(module, rest) for _, module, rest in shown(MODULE)}))
def test_a_page_shows_options_that_a_module_has(module: str, rest: str) -> None:
    path = ROOT / module.replace(".", "/")
    file = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    source = file.read_text(encoding="utf-8")

    assert [option for option in re.findall(r"--[a-z-]+", rest) if f'"{option}"' not in source] == []
