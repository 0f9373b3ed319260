"""`fencepost campaign --help`: it has every option of its commands, and every one that the docs name."""

from __future__ import annotations

import re

import click

from harness.cli.commands.campaign import campaign
from tests.support.repository import ROOT

OF_DASK = {"--nthreads", "--resources", "--protocol", "--tls-ca-file", "--tls-cert", "--tls-key"}
OF_DASK |= {"--no-dashboard"}


def help_of_the_group() -> str:
    return campaign.get_help(click.Context(campaign, info_name="campaign"))


def test_it_has_every_option_of_its_commands() -> None:
    options = {
        name
        for command in campaign.commands.values()
        if not command.hidden
        for option in command.params
        for name in option.opts
        if name.startswith("--")
    }

    shown = help_of_the_group()

    assert len(options) > 10
    assert {name for name in options if name not in shown} == set()


def test_it_has_every_option_that_the_documentation_names() -> None:
    text = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - OF_DASK - {"--set"}

    shown = help_of_the_group()

    assert len(named) > 8
    assert {name for name in named if name not in shown} == set()
