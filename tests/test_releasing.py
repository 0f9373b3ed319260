"""The recipe of docs/releasing.md: each command is run, in a clone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.console_blocks import follow, shell
from tests.support.repository import ROOT

MAINTAINER = {
    "GIT_AUTHOR_NAME": "maintainer",
    "GIT_AUTHOR_EMAIL": "maintainer@localhost",
    "GIT_COMMITTER_NAME": "maintainer",
    "GIT_COMMITTER_EMAIL": "maintainer@localhost",
}


@pytest.fixture
def clone() -> Iterator[Path]:
    """What is committed, with the virtual environment that the tests run in.

    Every user can enter it, since no local server runs as root.
    """
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there is nothing to clone")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        subprocess.run(["git", "clone", "--quiet", ROOT, folder / "clone"], check=True)
        (folder / "clone/.venv").symlink_to(sys.prefix)
        yield folder / "clone"


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
@pytest.mark.timeout(1200)  # it repeats a run that was not exercised
def test_each_command_of_the_release_recipe_prints_what_the_page_shows(clone: Path) -> None:
    with shell(clone, **MAINTAINER) as opened:
        follow(ROOT / "docs/releasing.md", opened, clone)
