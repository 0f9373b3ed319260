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
