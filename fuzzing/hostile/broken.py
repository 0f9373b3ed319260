"""The rules that hold for the text of every output, and how it is said that one is broken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checkers.text.printable import printable
from fuzzing.hostile.payloads import Payload


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that an output breaks, and the place that shows it."""

    rule: str
    shown: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.shown}" if self.shown else self.rule


def bugs(text: str) -> Iterator[Broken]:
    """No command may end in a bug of its own."""
    if "Traceback (most recent call last)" in text or "this is a bug in Fencepost" in text:
        yield Broken("a traceback", text[-600:])


def characters(text: str) -> Iterator[Broken]:
    """No character may be other than it looks."""
    seen = printable(text, keep="\n")
    if seen != text:
        at = next(at for at, (one, other) in enumerate(zip(text, seen, strict=False)) if one != other)
        yield Broken("a character is written raw", repr(text[max(0, at - 30) : at + 30]))


def lines(text: str, payload: Payload) -> Iterator[Broken]:
    """No line may begin with what a hostile text has after a line break."""
    for line in text.splitlines():
        if payload.forged and line.strip().startswith(payload.forged):
            yield Broken("a forged line", repr(line[:100]))


def workflow_commands(lines: Iterable[str]) -> Iterator[Broken]:
    """GitHub obeys `::` at the start of a line after spaces, GitHub and Azure `##[` and `##vso[` anywhere."""
    for line in lines:
        if line.strip().startswith(("::", "##teamcity[")) or re.search(r"##(vso)?\[", line):
            yield Broken("a workflow command", repr(line[:100]))
