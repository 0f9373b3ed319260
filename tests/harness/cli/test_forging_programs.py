"""A client's program adds no line, no command and no link to what `check-client` and `card` show of it."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from checkers.text.printable import printable
from tests.support.command import fencepost
from tests.support.repository import ROOT

PROGRAM = ROOT / "tests/support/line_program.py"
FORGED = (
    "r\n::error::FORGED\n  FORGED\r\x85##[error]x\x9b31m\u202e\u200b\x1b]0;x\x07"
    "[x](http://evil.example) <img src=x> @someone ` | #1 FORGED"
)
AT_START = {
    "its error output": ("def main() -> None:\n", f"def main() -> None:\n    sys.exit({FORGED!r})\n"),
    "why it does not start": (
        'outcome="ok", versions={"sqlite": sqlite3.sqlite_version}',
        f'outcome="failed", reason={FORGED!r}',
    ),
}
VERSIONS = ('{"sqlite": sqlite3.sqlite_version}', f"{{{FORGED!r}: {FORGED!r}}}")
ANSWERS = (
    VERSIONS,
    ('event="sent"', f"event={FORGED!r}"),
    ('"value": value, "token": token}', f'"value": {FORGED!r}, "token": {FORGED!r}}}'),
    ('{"outcome": "ok" if done.rowcount else "failed"}', f'{{"outcome": "failed", "reason": {FORGED!r}}}'),
    ('"ttl_ms": self.ttl, "attempt_ns"', f'"ttl_ms": self.ttl, {FORGED!r}: {FORGED!r}, "attempt_ns"'),
)


def forging(folder: Path, *replacements: tuple[str, str]) -> str:
    """Write a program that forges, and return its command."""
    source = PROGRAM.read_text()
    for old, new in replacements:
        assert old in source
        source = source.replace(old, new)
    (folder / "program.py").write_text(source)
    return shlex.join([sys.executable, str(folder / "program.py"), str(folder / "file.db")])


def assert_inert(text: str) -> None:
    assert "FORGED" in text
    assert printable(text, keep="\n") == text
    assert not [line for line in text.split("\n") if line.lstrip().startswith(("::", "FORGED", "##"))]


@pytest.mark.parametrize("replacements", [*([each] for each in AT_START.values()), ANSWERS])
def test_check_client_shows_what_a_program_says_as_text(
    tmp_path: Path, replacements: tuple[tuple[str, str], ...]
) -> None:
    options = ("--engine=local", "--set=lock.ttl=1s", "--fencing=compare")

    done = fencepost(tmp_path, "check-client", *options, forging(tmp_path, *replacements))

    assert_inert(done.stdout + done.stderr)


@pytest.mark.parametrize("replacement", [*AT_START.values(), VERSIONS])
def test_a_card_shows_what_a_program_says_as_text(tmp_path: Path, replacement: tuple[str, str]) -> None:
    kinds = ("--lock=client", "--storage=sqlite", "--no-token", "--only=calm", "--duration=2s", "--name=mine")

    done = fencepost(
        tmp_path, "card", "--engine=local", "--format=json", *kinds, forging(tmp_path, replacement)
    )

    (card,) = tmp_path.glob("cards/mine/2*/card.md")
    assert_inert(done.stdout + done.stderr)
    assert_inert(card.read_text())
    assert_inert(card.with_suffix(".json").read_text())
    live = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", card.read_text())
    assert not [each for each in ("evil", "<img", "@someone", "#1") if each in live]
