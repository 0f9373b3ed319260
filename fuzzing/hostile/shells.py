"""The commands that outputs tell a reader to copy, pasted into real shells.

A stub in the place of `fencepost` notes its words, and one in the place of `touch`, which the commands of
strangers call, that it was called.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from fuzzing.hostile.markdown import markdown_tokens
from fuzzing.hostile.outputs import Kind, Output
from fuzzing.hostile.pages import elements

SHELLS = tuple(name for name in ("bash", "dash", "zsh") if shutil.which(name))
"""The shells that this machine has."""
_OFFERED = re.compile(r"^\s*(?:judge again|run again|open|judge it|run it again)[:\s]\s*(.*)$", re.MULTILINE)
_IN_BACKTICKS = re.compile(r"`(fencepost .*)`")
_REPEATS = re.compile(r"^  (\S*fencepost .*|cd .*)$", re.MULTILINE)
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 20  # s
_NOTE = """#!/bin/sh
for word; do printf '%s\\0' "$word" >> "$NOTES"; done
printf '\\n\\0' >> "$NOTES"
"""
_ALARM = """#!/bin/sh
printf 'ran\\n' >> "$ALARM"
"""
_EACH = 'for line; do (eval "$line") </dev/null; printf "\\035\\0" >> "$NOTES"; done'


def commands(output: Output) -> list[str]:
    """Return the commands that an output tells its reader to copy."""
    return list(dict.fromkeys(each.strip() for each in _commands(output) if each.strip()))


def _commands(output: Output) -> Iterator[str]:
    match output.kind:
        case Kind.PAGE:
            yield from elements(output.text).commands
        case Kind.JUNIT:
            with suppress(ET.ParseError):  # there is a rule for that
                for element in ET.fromstring(output.text).iter():  # noqa: S314 (our own)
                    yield from _OFFERED.findall(element.text or "")
        case Kind.MARKDOWN:
            blocks = {"code_block", "fence"}
            yield from (each.content for each in markdown_tokens(output.text) if each.type in blocks)
        case Kind.JSON if output.name == "campaign.json":
            for cell in json.loads(output.text)["cells"]:
                yield from (run["replay"] for run in cell["runs"] if run["replay"])
        case Kind.TERMINAL | Kind.TTY | Kind.WORKFLOW:
            plain = _COLOR.sub("", output.text)
            for pattern in (_OFFERED, _IN_BACKTICKS, _REPEATS):
                yield from pattern.findall(plain)


@dataclass(frozen=True, slots=True)
class Pasted:
    """What became of a pasted line: the words of each call of `fencepost`."""

    line: str
    calls: tuple[tuple[str, ...], ...]


def paste(lines: Sequence[str], shell: str) -> tuple[list[Pasted], bool]:
    """Paste lines into a shell, each alone; return the calls, and whether anything else was run."""
    with tempfile.TemporaryDirectory() as folder:
        notes, alarm, stubs = Path(folder) / "notes", Path(folder) / "alarm", Path(folder) / "bin"
        notes.touch()
        stubs.mkdir()
        for name, content in (("fencepost", _NOTE), ("touch", _ALARM)):
            (stubs / name).write_text(content)
            (stubs / name).chmod(0o700)
        environment = {"PATH": str(stubs), "NOTES": str(notes), "ALARM": str(alarm), "HOME": folder}
        _run(shell, lines, environment, Path(folder))
        sections = notes.read_bytes().decode(errors="surrogateescape").split("\035\0")
        calls = [tuple(_calls(section)) for section in sections[: len(lines)]]
        return [Pasted(*each) for each in zip(lines, calls, strict=False)], alarm.exists()


def _run(shell: str, lines: Sequence[str], environment: dict[str, str], folder: Path) -> None:
    path = shutil.which(shell) or shell
    words = [each.encode(errors="surrogateescape").replace(b"\0", b"") for each in lines]
    subprocess.run(
        [path, *(["-f"] if shell == "zsh" else []), "-c", _EACH, shell, *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_LONGEST,
        check=False,
    )
    if shell == "zsh":  # typed, it knows no comments
        for line in words:
            subprocess.run(
                [path, "-f", "-i", "-s"],
                cwd=folder,
                env=environment | {"NOTES": os.devnull},
                input=line + b"\n",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST,
                check=False,
                start_new_session=True,
            )


def _calls(section: str) -> Iterator[tuple[str, ...]]:
    words: list[str] = []
    for word in section.split("\0")[:-1]:
        if word == "\n":
            yield tuple(words)
            words = []
        else:
            words.append(word)
