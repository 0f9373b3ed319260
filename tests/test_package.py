"""The wheel and the source distribution carry all that is needed; `make install`, and the Pythons that it admits."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import pytest

from harness.cli import diagnostics
from harness.core.exit_codes import ExitCode
from tests.support.challenged import repeated
from tests.support.command import ran
from tests.support.repository import PROJECT, PYTHONS, ROOT
from tests.support.selection import nightly

PACKAGES = ("checkers", "workloads", "harness", "compose", "fencepost")
SHIPPED = ("targets", "campaigns")
NO_DOCKER = "tcp://127.0.0.1:1"
TARGET = "etcd-postgres-unfenced"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is committed, with both distributions in `dist`."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there is nothing to build")
    clone = tmp_path_factory.mktemp("package") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    build(clone)
    return clone


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    return only("*.whl", checkout)


def build(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", *arguments], cwd=folder, check=True)


def only(pattern: str, folder: Path) -> Path:
    (found,) = (folder / "dist").glob(pattern)
    return found


def committed(checkout: Path, *folders: str) -> set[str]:
    listed = ran(["git", "ls-files", *folders], cwd=checkout, check=True)
    return set(listed.stdout.splitlines())


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_packages_and_what_ships(checkout: Path, wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    shipped = {f"harness/shipped/{file}" for file in committed(checkout, *SHIPPED)}
    assert len(shipped) > 100
    assert packed == committed(checkout, *PACKAGES) | shipped


def test_what_the_description_links_is_in_the_repository(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
        text = email.message_from_bytes(archive.read(name)).get_payload()

    links = re.findall(r'(?:\]\(|\b(?:href|src|srcset)=")([^)"\s]+)', str(text))
    ours = re.compile(rf"{PROJECT['urls']['Repository']}/(?:blob|raw)/v{PROJECT['version']}/([^#]+)")
    named = [found[1] for link in links if (found := ours.match(link))]
    assert [link for link in links if not re.match("https?:|#", link)] == []
    assert "ARCHITECTURE.md" in named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_source_distribution_builds_the_same_wheel(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(only("*.tar.gz", checkout)) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()

    build(source, "--target", "wheel")

    assert only("*.whl", source).read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_wheel_finds_what_ships_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    pip(Path(sys.executable), "--no-deps", "--no-index", "--target", tmp_path / "installed", wheel)

    def fencepost(*arguments: str) -> list[str]:
        program = tmp_path / "installed/bin/fencepost"
        done = run_in(tmp_path, program, *arguments, PYTHONPATH=str(tmp_path / "installed"))
        assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
        return done.stdout.splitlines()

    assert fencepost("--version") == [f"fencepost, version {PROJECT['version']}"]
    assert len(fencepost("targets")) >= len(list((ROOT / "targets").glob("*.toml")))
    assert fencepost("campaign", "--dry-run", "--engine", "local", "local")


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.timeout(1200)  # it installs from a package index, and repeats a run that was not challenged
@pytest.mark.parametrize("version", [PYTHONS[-1], *nightly(*PYTHONS[:-1])])
def test_a_bare_environment_runs_a_target_on_each_python(wheel: Path, version: str, tmp_path: Path) -> None:
    """Its requirements are not pinned: they are the newest, as a user gets them."""
    subprocess.run([interpreter(version), "-m", "venv", tmp_path / "venv"], check=True)
    pip(tmp_path / "venv/bin/python", f"{wheel}[local]")

    done = repeated(
        partial(run_in, tmp_path, tmp_path / "venv/bin/fencepost", "run", TARGET),
        lambda done: done.returncode == ExitCode.UNKNOWN,
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    verdict = json.loads((tmp_path / f"runs/{TARGET}/latest/verdict.json").read_text())
    assert verdict["anomalies"]["stale-write"] > 0
    environment = json.loads((tmp_path / f"runs/{TARGET}/latest/environment.json").read_text())
    assert environment["python"].startswith(f"{version}.")


def interpreter(version: str) -> Path:
    """Find a Python that makes virtual environments: on PATH, or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [Path(shutil.which(f"python{version}") or ""), *pyenv.glob(f"versions/{version}.*/bin/python3")]
    for python in filter(Path.is_file, found):
        tried = subprocess.run([python, "-c", "import ensurepip, venv"], check=False, capture_output=True)
        if tried.returncode == 0:
            return python
    pytest.skip(f"there is no Python {version}")


def pip(python: Path, *arguments: str | Path) -> None:
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    subprocess.run([python, *install, *arguments], check=True)


def run_in(
    folder: Path, program: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as it is outside of any checkout, on a machine without Docker."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return ran([program, *arguments], cwd=folder, env=inherited | {"DOCKER_HOST": NO_DOCKER} | environment)


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
