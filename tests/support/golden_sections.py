"""A golden file with a section for each of many names: `== NAME ==`, and its lines."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

WRITE = "read it, and write it with `make golden`"
_HEAD, _TAIL = "== ", " =="


def read_sections(file: Path) -> dict[str, list[str]]:
    """The lines of each section, by name, in the order of the file."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []  # those above the first section say what the file is
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.startswith(_HEAD) and line.endswith(_TAIL):
            lines = sections.setdefault(line[len(_HEAD) : -len(_TAIL)], [])
        else:
            lines.append(line)
    return {name: _without_end(lines) for name, lines in sections.items()}


def write_sections(file: Path, about: str, sections: Mapping[str, Sequence[str]]) -> None:
    """Write the sections that have any lines, below a line that says what the file is."""
    text = [about]
    for name, lines in sections.items():
        text += ["", f"{_HEAD}{name}{_TAIL}", *lines] if lines else []
    file.write_text("\n".join(text) + "\n", encoding="utf-8")


def changes(golden: Iterable[str], now: Iterable[str]) -> str:
    """What differs, as a unified diff; empty if nothing does."""
    return "\n".join(difflib.unified_diff([*golden], [*now], "golden", "now", lineterm="", n=1))


def _without_end(lines: Sequence[str]) -> list[str]:
    """Without the blank line before the next section."""
    return list(lines[:-1] if lines and not lines[-1] else lines)
