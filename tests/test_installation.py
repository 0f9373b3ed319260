"""`make install`, with a Python that installs nothing; which Pythons it admits."""

import re
import shutil
from pathlib import Path

from harness.cli import diagnostics
from tests.support.command import ran
from tests.support.repository import PROJECT, PYTHONS, ROOT

BY_NAME = re.compile(r"""\binstall +(-\S+ +)*['"]?fencepost\b(?![/.])""")
MAKES_NO_ENVIRONMENT = """#!/bin/sh
case "$*" in
*venv*) mkdir -p .venv/bin && printf '#!/bin/sh\\necho pip >&2\\n' >.venv/bin/pip && chmod +x .venv/bin/pip ;;
esac
"""


def test_the_first_line_says_how_long_it_takes_and_the_last_what_is_next(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python"
    python.write_text(MAKES_NO_ENVIRONMENT)
    python.chmod(0o755)

    made = ran(
        ["make", "--no-print-directory", "install", f"PYTHON={python}"], cwd=tmp_path, timeout=60, check=True
    )

    assert made.stdout == (
        "installing Python packages into .venv: takes about a minute, longer on a slow network\n"
        "installed; next: .venv/bin/fencepost run etcd-postgres-unfenced\n"
    )
    assert made.stderr == "pip\npip\n"


def test_every_place_admits_the_same_pythons() -> None:
    (_, oldest), (_, newest) = diagnostics.PYTHONS
    words = [(f"3.{oldest}", f"3.{newest}")]

    assert [f"3.{minor}" for minor in range(oldest, newest + 1)] == PYTHONS
    assert PROJECT["requires-python"] == f">=3.{oldest},<3.{newest + 1}"
    assert f"(3, {oldest}) <= sys.version_info[:2] <= (3, {newest})" in (ROOT / "Makefile").read_text()
    for file in ("Makefile", "examples/ci/Jenkinsfile", "harness/cli/diagnostics.py"):
        assert re.findall(r"Python (3\.\d+) to (3\.\d+)", (ROOT / file).read_text()) == words


def test_nothing_says_to_install_fencepost_by_its_name() -> None:
    """No package index has it: only a checkout can be installed."""
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(
            file
            for folder in ("examples", "campaigns")
            for file in (ROOT / folder).rglob("*")
            if file.is_file()
        ),
        *(
            file
            for package in ("checkers", "workloads", "harness", "fencepost")
            for file in (ROOT / package).rglob("*.py")
        ),
    ]

    assert len(pages) > 100
    named = [
        (file.name, found[0]) for file in pages if (found := BY_NAME.search(file.read_text(errors="replace")))
    ]
    assert named == []
