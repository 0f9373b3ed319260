"""The steps of docs/releasing.md that change the repository, and what release.yml demands of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.command import ran
from tests.support.console_blocks import follow, shell
from tests.support.repository import PROJECT, ROOT

MAINTAINER = {
    "GIT_AUTHOR_NAME": "maintainer",
    "GIT_AUTHOR_EMAIL": "maintainer@localhost",
    "GIT_COMMITTER_NAME": "maintainer",
    "GIT_COMMITTER_EMAIL": "maintainer@localhost",
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which 0.2.0 was released by the steps of the page."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there is nothing to clone")
    clone = tmp_path_factory.mktemp("releasing") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    (clone / ".venv").symlink_to(sys.prefix)
    with shell(clone, **MAINTAINER) as opened:
        follow(ROOT / "docs/releasing.md", opened, clone)
    return clone


def demanded_of(tag: str, clone: Path) -> int:
    """The exit code of the step of release.yml that looks at the tag."""
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["build"]["steps"]
    (script,) = [step["run"] for step in steps if "tag" in step.get("name", "")]
    bash = ["bash", "-e", "-c", script]
    environment = os.environ | {"GITHUB_REF_NAME": tag}
    return subprocess.run(bash, cwd=clone, env=environment, check=False, stdout=subprocess.DEVNULL).returncode


def test_the_steps_leave_a_clean_tagged_commit(released: Path) -> None:
    seen = ran(["git", "describe", "--dirty"], cwd=released, check=True)

    assert seen.stdout == "v0.2.0\n"


def test_the_workflow_accepts_the_tag_of_the_released_version(released: Path) -> None:
    assert demanded_of("v0.2.0", released) == 0


def test_the_changelog_has_the_current_version_with_its_date() -> None:
    assert demanded_of(f"v{PROJECT['version']}", ROOT) == 0


def test_the_workflow_refuses_a_tag_of_another_version(released: Path) -> None:
    assert demanded_of("v0.1.0", released) != 0


def test_the_workflow_refuses_a_version_without_a_dated_section(released: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text((released / "pyproject.toml").read_text())
    (tmp_path / "CHANGELOG.md").write_text("## 0.2.0\n")

    assert demanded_of("v0.2.0", tmp_path) != 0
