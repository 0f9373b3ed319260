"""The texts of a stranger by their names, and files to put them in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MS = 1_000_000  # ns
STARTED = "2026-11-22T03:00:00+00:00"
Document = dict[str, Any]


@dataclass(slots=True)
class Words:
    """The texts of a subject, by name; `hostile` replaces some."""

    hostile: Mapping[str, str] = field(default_factory=dict)
    asked: dict[str, None] = field(default_factory=dict)

    def __call__(self, name: str, harmless: str) -> str:
        """Return the hostile text in the place of a word, or the harmless one."""
        self.asked[name] = None
        return self.hostile.get(name, harmless)


def write(file: Path, text: str) -> None:
    """Write a file, and its folders; halves of surrogate pairs as they are."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode(errors="surrogatepass"))


def write_lines(file: Path, documents: Sequence[Document]) -> None:
    """Write a document in each line."""
    write(file, "".join(f"{json.dumps(each)}\n" for each in documents))


def in_toml(text: str) -> str:
    """Quote a text for TOML, which knows no halves of surrogate pairs, and no null."""
    return json.dumps(text.encode(errors="replace").decode()).replace("\\u007f", "\x7f")


def as_name(text: str, *, most: int = 200) -> str:
    """Make a file name of a text; a half of a surrogate pair becomes a byte that is not UTF-8."""
    named = text.replace("/", "\u2044").replace("\0", "").replace("\ud800", "\udcff")
    return os.fsdecode(os.fsencode(named)[:most]) or "x"
