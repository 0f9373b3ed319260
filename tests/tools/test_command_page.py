"""The page of the commands names every one of them, and every exit code."""

from __future__ import annotations

import re

import click

from harness.cli.app import EPILOG
from harness.cli.commands import COMMANDS
from harness.core.exit_codes import RANKING, ExitCode
from tests.support.repository import ROOT

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
