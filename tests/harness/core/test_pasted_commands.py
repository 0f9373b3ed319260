"""Printed commands: named as the shell here finds the program, and pasted they give the same words."""

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.text.printable import line as as_line
from checkers.text.printable import printable
from checkers.text.redaction import redacted_document
from harness.core.invocation import NAME, NOT_SHOWN, Command, Repetition, again, typed
from tests.support.selection import examples

SHELLS = ("bash", "dash", "zsh")
INTERACTIVE = {"bash": ["--norc", "--noprofile", "-i"], "dash": ["-i"], "zsh": ["-f", "-i"]}
PROGRAM = """#!/bin/sh
printf '%s\\0' "$#" "$PWD" "$PYTHONPATH" "$@" >>'{log}'
"""
HOSTILE = (
    "b; touch PWNED #",
    "$(touch PWNED)",
    "`touch PWNED`",
    "a' ; touch PWNED; '",
    'a" ; touch PWNED; "',
    "run password='b; touch PWNED #",
    "password=\"x' ; touch PWNED; '",
    "--password",
    "secret = 'a",
    "api_key: 'x' \" touch PWNED",
    "https://me:'; touch PWNED; '@host/",
    "x://:it's@h",
    "!!",
    "!touch PWNED",
    "=ls",
    "a:=ls",
    "~root",
    "*",
    "{a,b}",
    "a\\",
    "#",
    "# a",
    "&&",
    "<in",
    ">PWNED",
    "'",
    "''",
    "",
    "-",
    "é ü",
    "a  b",
)


@dataclass(frozen=True, slots=True)
class Pasting:
    """A shell, with a program that logs where and with which words it was started."""

    shell: Sequence[str]
    folder: Path

    def paste(self, lines: Sequence[str]) -> list[list[str]]:
        """Paste lines, and return the words of each call of the program."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        subprocess.run(
            self.shell,
            input="".join(f"{line}\n" for line in lines).encode(),
            cwd=self.folder / "here",
            env={
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "LC_ALL": "C.UTF-8",
            },
            capture_output=True,
            start_new_session=True,  # an interactive shell would take our terminal
            timeout=120,
            check=False,
        )
        logged = iter(log.read_bytes().decode().split("\0")[:-1] if log.exists() else ())
        return [[*itertools.islice(logged, 2 + int(count))] for count in logged]

    @property
    def here(self) -> str:
        """The folder of the shell."""
        return str(self.folder / "here")

    @property
    def files(self) -> list[str]:
        """What is in that folder."""
        return [file.name for file in Path(self.here).iterdir()]


@pytest.fixture(scope="module", params=[*SHELLS, *(f"{shell} -i" for shell in SHELLS)])
def pasting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pasting:
    shell, _, interactive = request.param.partition(" ")
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    folder = tmp_path_factory.mktemp(shell)
    (folder / "here").mkdir()
    program = folder / "bin" / NAME
    program.parent.mkdir()
    program.write_text(PROGRAM.format(log=folder / "log"))
    program.chmod(0o755)
    return Pasting([shell, *(INTERACTIVE[shell] if interactive else [])], folder)


def shown(words: Sequence[str]) -> list[str]:
    """The words without passwords, and a last one, before which `--password` is no option at the end."""
    return [str(word) for word in redacted_document([*words, "end"])]


def test_hostile_words_stay_words(pasting: Pasting) -> None:
    called = [shown([word, other]) for word in HOSTILE for other in ("x", "a' b", "--password=c")]
    commands = [str(Command(words=(NAME, *words))) for words in called]
    assert NOT_SHOWN not in commands

    assert pasting.paste(commands) == [[pasting.here, "", *words] for words in called]
    assert pasting.files == []


def test_hostile_folders_are_entered_and_run_nothing(pasting: Pasting) -> None:
    names = [word.replace("/", ":") for word in HOSTILE if word]
    folders = [pasting.folder / "other" / (redacted_document(name) or "x") for name in names]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    commands = {
        each: str(Command(words=(NAME, "end"), folder=str(each), python_path=f"/a:=ls:{each}"))
        for each in folders
    }
    assert [each.name for each, line in commands.items() if line == NOT_SHOWN] == ["--password"]
    entered = [each for each in folders if each.name != "--password"]

    calls = [call for each in entered for call in pasting.paste([commands[each]])]

    assert calls == [[str(each), f"/a:=ls:{each}", "end"] for each in entered]
    assert pasting.files == []


def test_a_command_that_is_not_shown_runs_nothing(pasting: Pasting) -> None:
    assert pasting.paste([NOT_SHOWN]) == []
    assert pasting.files == []


ALPHABET = "ab=;&|$`'\"\\ #!*?~<>(){}[]-:/,%@+^"
WORDS = st.one_of(
    st.sampled_from(HOSTILE), st.text(ALPHABET, max_size=8), st.text(max_size=4), st.just("password=")
)


@settings(max_examples=examples(300))
@given(st.lists(WORDS, min_size=1, max_size=4))
def test_no_escaping_of_messages_changes_a_command(words: list[str]) -> None:
    line = str(Command(words=(NAME, *words)))

    assert line == as_line(line) == printable(line)


@settings(max_examples=examples(40))
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=20))
def test_any_words_are_given_exactly_or_not_shown(commands: list[list[str]]) -> None:
    lines = {str(Command(words=("printf", "%s\\0", *words, "end"))): words for words in commands}
    lines.pop(NOT_SHOWN, None)
    expected = [word for words in lines.values() for word in shown(words)]

    for shell in filter(shutil.which, SHELLS):
        done = subprocess.run([shell], input="\n".join(lines).encode(), capture_output=True, check=False)
        assert done.stdout.decode().split("\0")[:-1] == expected, shell


@pytest.mark.parametrize("character", ["\n", "\r", "\t", "\x1b", "\u202e", "\u200b", "\udcff", "\x00"])
def test_a_name_with_an_invisible_character_is_not_shown(character: str) -> None:
    assert typed("recheck", f"a{character}b") == NOT_SHOWN
    assert str(Command(words=(NAME,), folder=f"/a{character}b")) == NOT_SHOWN
    assert str(Command(words=(NAME,), folder="/a", python_path=f"a{character}b")) == NOT_SHOWN


@pytest.mark.parametrize("name", ["password='x; touch PWNED #", "a/secret=b", "secret = 'a b'"])
def test_a_name_that_looks_like_a_password_is_not_shown(name: str) -> None:
    assert typed("recheck", Path(name)) == typed("recheck", name) == NOT_SHOWN
    assert typed("run", "t.toml", "--plan", f"{name}/plan.json") == NOT_SHOWN
    assert str(Command(words=(NAME,), folder=f"/{name}")) == NOT_SHOWN
    assert str(Command(words=(NAME,), folder="/a", python_path=name)) == NOT_SHOWN


def test_a_password_in_a_setting_is_hidden() -> None:
    given = ("--set", "storage.password=x", "--set=lock.password=x", "--password", "x", "end")

    assert typed(*given) == (
        "fencepost --set 'storage.password=***' '--set=lock.password=***' --password '***' end"
    )


def test_a_command_that_a_message_would_cut_is_not_shown() -> None:
    assert typed("recheck", "a" * 5_000) == NOT_SHOWN


def test_a_path_is_no_option() -> None:
    assert typed("recheck", Path("--model")) == "fencepost recheck ./--model"


@pytest.mark.parametrize("folder", ["-", "relative", "~", ""])
def test_only_an_absolute_folder_is_entered(folder: str) -> None:
    how = Repetition(folder=folder, python_path="/evil")

    assert str(again("t", 1, how)) == "fencepost run t --seed 1"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a subfolder of the current folder, not on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    file = tmp_path / ".venv" / "bin" / "fencepost"
    file.parent.mkdir(parents=True)
    file.touch(mode=0o755)
    return file


def start_as(monkeypatch: Any, path: Path | str) -> None:
    monkeypatch.setattr(sys, "argv", [str(path)])


@pytest.mark.parametrize(
    ("started_as", "path", "folder", "shown"),
    [
        ("{program}", "/nowhere", ".", ".venv/bin/fencepost"),
        (".venv/bin/fencepost", "/nowhere", ".", ".venv/bin/fencepost"),
        ("{program}", "/nowhere", ".venv/bin", "./fencepost"),
        ("{program}", "{bin}", ".", "fencepost"),
        ("{program}", "{other}", ".", ".venv/bin/fencepost"),
        ("{bin}/pytest", "/nowhere", ".", "fencepost"),
    ],
    ids=["not on PATH", "relative", "in the current folder", "on PATH", "another on PATH", "another name"],
)
def test_a_program_is_named_as_the_shell_here_finds_it(
    program: Path, monkeypatch: pytest.MonkeyPatch, started_as: str, path: str, folder: str, shown: str
) -> None:
    other = Path("other/fencepost").absolute()
    other.parent.mkdir()
    other.touch(mode=0o755)
    places = {"program": program, "bin": program.parent, "other": other.parent}
    start_as(monkeypatch, started_as.format(**places))
    monkeypatch.setenv("PATH", path.format(**places))
    monkeypatch.chdir(folder)

    assert typed("recheck", Path("my runs")) == f"{shown} recheck 'my runs'"


def test_a_run_is_repeated_by_a_command_in_any_folder(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_as(monkeypatch, ".venv/bin/fencepost")

    command = again(Path("runs/t/1/target.toml"), 7, Repetition(options=("--engine", "local")))

    here = Path.cwd()
    assert str(command) == f"{program} run {here}/runs/t/1/target.toml --seed 7 --engine local"


def test_a_path_like_an_assignment_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    file = tmp_path / "a=b" / "fencepost"
    file.parent.mkdir()
    file.touch(mode=0o755)
    start_as(monkeypatch, file)

    assert typed("run", "t") == "'a=b/fencepost' run t"
