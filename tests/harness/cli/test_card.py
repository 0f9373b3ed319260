"""`fencepost card --versions`, with a program that has a bug up to some release."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import fencepost, refusal
from tests.support.repository import ROOT

ONLY = ("--only=held-longer", "--engine=local", "--lock=client", "--storage=sqlite", "--no-token")
INSTALL = f"{shlex.quote(sys.executable)} -c \"open('{{version}}.txt', 'w').write('renews' * ('{{version}}' > '2'))\""


def card(folder: Path, command: str, *options: str) -> Any:
    return fencepost(folder, "card", *ONLY, "--set=lock.ttl=1s", "--name=mine", *options, command)


def program(folder: Path, script: str) -> str:
    """A program that is started by a shell."""
    (folder / "start.sh").write_text(
        f"cd {shlex.quote(str(ROOT))} && exec {shlex.quote(sys.executable)} {script}"
    )
    return f"sh {folder / 'start.sh'} {{version}}"


@pytest.mark.slow
def test_the_release_that_changed_an_answer_is_found(tmp_path: Path) -> None:
    words = f"-m tests.support.renewing_program {tmp_path}/$1.db $1 $(cat {tmp_path}/$1.txt)"
    options = ("--versions=mine=1,2,3,4", "--install", INSTALL, "--format=json")
    done = card(tmp_path, program(tmp_path, words), *options)
    document = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert sorted(document["cards"]) == ["1", "2", "3", "4"]
    assert [(each["key"], each["last"], each["first"]) for each in document["changes"]] == [
        ("renewed_while_held", "2", "3")
    ]
    assert "renewed while held: no up to 2, yes from 3 on" in done.stderr
    (table,) = (tmp_path / "cards/mine").glob("2*/releases.md")
    assert "| renewed while held? | ○ no |" in table.read_text()


@pytest.mark.slow
def test_another_release_than_the_installed_one_is_refused(tmp_path: Path) -> None:
    words = f"-m tests.support.renewing_program {tmp_path}/$1.db 7"
    done = card(tmp_path, program(tmp_path, words), "--versions=mine=1,2")

    assert done.returncode == 4
    assert "--versions: mine 1 was to be tested, but the program reports mine 7" in done.stderr


def test_an_install_that_fails_is_named(tmp_path: Path) -> None:
    done = card(tmp_path, "true", "--versions=mine=1,2", "--install=ls /nowhere-{version}")

    assert done.returncode == 3
    assert "--install ls /nowhere-1: ended with exit code 2" in done.stderr
    assert "cannot access '/nowhere-1'" in done.stderr


def test_an_install_without_releases_is_refused(tmp_path: Path) -> None:
    assert "--install is for --versions" in refusal(tmp_path, "card", *ONLY, "--install=true", "true")
