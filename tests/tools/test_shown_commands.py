"""Commands that the documentation shows can be called, and the page about the command is complete."""

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

from harness.cli.app import EPILOG, cli
from harness.cli.commands import COMMANDS
from harness.core.exit_codes import RANKING, ExitCode
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


PAGE = (ROOT / "docs/commands.md").read_text(encoding="utf-8")


def rows(head: str) -> dict[str, str]:
    """The first two cells of each row of the table that starts with this cell."""
    table = PAGE.partition(f"| {head} | |\n")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", table, re.MULTILINE))


def test_the_table_has_every_command_once() -> None:
    named = [cell.strip("`").split()[0] for cell in rows("command")]

    assert sorted(named) == sorted(command.name or "" for command in COMMANDS)


def test_the_table_has_every_exit_code() -> None:
    assert [int(code) for code in rows("exit code")] == sorted(ExitCode)


def test_exit_codes_mean_what_the_help_says() -> None:
    listed = re.findall(r"^  (\d+)  (.+)$", EPILOG, re.MULTILINE)
    said = rows("exit code")

    assert [code for code, words in listed if not said[code].startswith(words)] == []


def test_the_order_of_several_exit_codes_is_that_of_the_code() -> None:
    order = ", ".join(str(code.value) for code in RANKING)

    assert f"the first of {order} that occurs" in PAGE
    assert f"the first of {order} that occurs" in EPILOG


def test_a_command_has_its_options_and_no_hidden_one_is_listed() -> None:
    run = next(command for command in COMMANDS if command.name == "run")
    section = PAGE.partition("### fencepost run\n")[2].partition("\n### ")[0]
    options = [name for each in run.params if isinstance(each, click.Option) for name in each.opts]

    assert [name for name in options if f"`{name}" not in section] == []
    assert "### fencepost campaign worker" not in PAGE


def named_options() -> list[tuple[str, str, str]]:
    """Each option of a command that the documentation shows: the page, the words before it, and the option."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    lines = [(page.name, line) for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    return [
        (page, shown, option)
        for page, line in lines
        for shown in re.findall(r"\bfencepost ((?:[a-z][a-z-]+)\b[^`|;&#]*)", line)
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", shown)
    ]


def options_of(words: list[str]) -> set[str] | None:
    """The options of a command and of its subcommands; None for another word after the program's name."""
    command = next((each for each in COMMANDS if each.name == words[0]), None)
    if command is None:
        return None
    inner = list(command.commands.values()) if isinstance(command, click.Group) else []
    params = [param for each in (command, *inner) for param in each.params]
    return {"--help", *(name for each in params if isinstance(each, click.Option) for name in each.opts)}


def test_every_option_that_the_documentation_shows_exists() -> None:
    shown = named_options()
    known = [(page, line, option, options_of(line.split())) for page, line, option in shown]
    wrong = [(page, line, option) for page, line, option, has in known if has and option not in has]

    assert len(shown) > 50
    assert wrong == []
