"""The pages about the package import nothing else of ours, and their examples print what they say."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.command import ran
from tests.support.repository import ROOT

PRIVATE = "checkers|workloads|harness"
IMPORT = re.compile(rf"^\s*(?:>>> |\$ )?(?:from|import)\s+(?:{PRIVATE})\b", re.MULTILINE)
NAME = re.compile(rf"`(?:{PRIVATE})(?:\.\w+)+")
"""A name of theirs in prose; the path of a file has a slash instead."""
INSIDE = "docs/extending/"
"""The pages for those who change Fencepost itself."""
EXECUTED = ("docs/checkers.md", "docs/models.md")
"""Pages whose blocks run as they are, without servers or recorded runs."""
COMPARISONS = [
    " ".join(command.replace("\\\n", " ").split())
    for command in re.findall(r"```sh\n(.*?)```", (ROOT / "docs/trust.md").read_text(), re.DOTALL)
]
"""The commands that compare the checkers with the definitions."""
PRINTED = re.compile(r"^print\(.*\)  # (\(.*?\)|[^\s,:]+)(?:[,:].*)?$", re.MULTILINE)


def pages() -> Iterator[str]:
    """Every text in docs/ and examples/, and the README."""
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    files += [file for file in (ROOT / "examples").rglob("*") if file.suffix in {".md", ".py", ".toml"}]
    names = (str(file.relative_to(ROOT)) for file in sorted(files))
    return (name for name in names if not name.startswith(INSIDE))


def private_names(text: str) -> list[str]:
    return [*IMPORT.findall(text), *NAME.findall(text)]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", [*pages()])
def test_a_page_uses_no_package_of_ours_but_fencepost(page: str) -> None:
    assert private_names((ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "from checkers import Commit",
        "    import harness.spec",
        ">>> from workloads.client import Stale",
        "`harness.core.events`",
    ],
)
def test_a_private_name_in_a_page_is_found(text: str) -> None:
    assert private_names(f"Some words.\n{text}\n")


@pytest.mark.parametrize("page", EXECUTED)
def test_the_examples_of_a_page_print_what_they_say(
    page: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    for example in blocks(page):
        exec(compile(example, page, "exec"), names)  # noqa: S102 - our own documentation

        printed, said = capsys.readouterr().out.splitlines(), PRINTED.findall(example)
        assert printed[: len(said)] == said


@pytest.mark.slow
@pytest.mark.parametrize("command", COMPARISONS)
def test_the_commands_that_repeat_the_comparisons_find_their_tests(command: str) -> None:
    collect = command.replace(".venv/bin/pytest", f"{sys.executable} -m pytest --collect-only -q")

    done = ran(["bash", "-c", collect], env=os.environ | {"PYTEST_ADDOPTS": "-n 0"})

    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+(/\d+)? tests collected", done.stdout, re.MULTILINE)


def test_the_commands_that_repeat_the_comparisons_run_every_night() -> None:
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    job = nightly["jobs"]["differential"]

    assert [each["command"] for each in job["strategy"]["matrix"]["include"]] == COMPARISONS
    assert job["steps"][-1]["run"] == "${{ matrix.command }}"
