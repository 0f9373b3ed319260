"""The README and the description of the project: short, and the lock of one's own fails as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from harness.cli.app import cli
from harness.core.exit_codes import ExitCode
from tests.support.command import run_target
from tests.support.console_blocks import paragraphs
from tests.support.repository import PROJECT, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 900


def block(language: str) -> str:
    """Its only block of code in this language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return str(found)


def test_it_begins_with_the_sentence_of_the_package() -> None:
    assert README.startswith(f"# Fencepost\n\n**{PROJECT['description']}.**\n")


def test_it_has_at_most_900_words_of_prose() -> None:
    table_rows = re.findall(r"^\|.*\|$", README, re.MULTILINE)
    headings = re.findall(r"^#+ .*$", README, re.MULTILINE)
    words = sum(len(text.split()) for text in (*paragraphs(README), *table_rows, *headings))

    assert 500 < words <= MOST_WORDS


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_the_bug_of_its_own_lock_is_found(tmp_path: Path) -> None:
    (tmp_path / "mylock.py").write_text(block("python"), encoding="utf-8")
    (tmp_path / "mylock.toml").write_text(block("toml"), encoding="utf-8")

    done = run_target(tmp_path, tmp_path / "mylock.toml")

    verdict = json.loads(done.stdout)
    assert done.returncode == ExitCode.VIOLATION, done.stderr
    assert {finding["anomaly"] for finding in verdict["findings"]} == {"early-grant"}
    assert "between its grant and its token" in done.stderr


def test_package_site_and_help_describe_fencepost_by_one_sentence() -> None:
    sentence = PROJECT["description"]
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["site_description"]
    help_text = CliRunner().invoke(cli, ["--help"]).output

    assert site == sentence
    assert f"{sentence}." in " ".join(help_text.split())
