"""What Fencepost does is one sentence, the same in each place that says it."""

from __future__ import annotations

import yaml
from click.testing import CliRunner

from harness.cli.app import cli
from tests.support.repository import PROJECT, ROOT


def test_package_site_and_help_describe_fencepost_by_one_sentence() -> None:
    sentence = PROJECT["description"]
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["site_description"]
    help_text = CliRunner().invoke(cli, ["--help"]).output

    assert site == sentence
    assert f"{sentence}." in " ".join(help_text.split())
