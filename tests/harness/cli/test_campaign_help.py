"""The options that docs/nightly.md names: `fencepost campaign COMMAND --help` has them."""

from __future__ import annotations

import re

from harness.cli.commands.campaign import campaign
from tests.support.repository import ROOT

OF_DASK = {"--nthreads", "--resources", "--protocol", "--tls-ca-file", "--tls-cert", "--tls-key"}
OF_DASK |= {"--no-dashboard"}


def test_each_option_that_the_page_names_is_in_the_help_of_a_command() -> None:
    text = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - OF_DASK - {"--set"}

    known = {
        name for command in campaign.commands.values() for option in command.params for name in option.opts
    }

    assert len(named) > 8
    assert named <= known
