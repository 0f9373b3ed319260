"""What each step of a finding is about: the operations and the faults that it names.

A step names an operation by a line of the history ("line 18"), by what it wrote
("the write of '0-1.0'") or by its token ("the grant of token 6 to client 0").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.explain.phrases import content
from checkers.history.faults import Fault
from checkers.history.reader import Op
from checkers.history.records import WRITES
from checkers.text.printable import quoted
from harness.report.bands import Band
from harness.report.rows import Lines, with_columns

_LINES = re.compile(r"\blines? (\d+(?:(?:, | and )\d+)*)")
_NUMBER = re.compile(r"\d+")
_BEFORE_CONTENT = r"\b(?:of|sent|wrote|that|is|to|after|read|put|has|returned|was) "


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """What one step is about."""

    operations: tuple[int, ...]  # indexes, in the order of their calls
    bands: tuple[int, ...]  # positions among the faults of the run


class Mentions:
    """Finds out what steps are about."""

    def __init__(self, operations: Sequence[Op], bands: Sequence[Band | Fault]) -> None:
        self.lines = Lines(with_columns(operations))
        self.bands = {line: place for place, band in enumerate(bands) for line in band.lines}

    def of(self, steps: Iterable[str], proof: Sequence[Op]) -> tuple[Mention, ...]:
        """One for each step. Only lines are looked up in the whole run, other names in the proof."""
        names = {op.index: re.compile("|".join(_names(op))) for op in proof if any(_names(op))}
        values = [quoted(op.value) for op in proof if isinstance(op.value, str)]
        return tuple(self._of(step, names, values) for step in steps)

    def _of(self, step: str, names: Mapping[int, re.Pattern[str]], values: Sequence[str]) -> Mention:
        lines = list(_lines(step, values))
        found = {op.index for op in self.lines.of(lines)}
        found.update(index for index, name in names.items() if name.search(step))
        hit = {self.bands[line] for line in lines if line in self.bands}
        return Mention(operations=tuple(sorted(found)), bands=tuple(sorted(hit)))


def _lines(step: str, values: Iterable[str]) -> Iterator[int]:
    """The lines that a step names; a value that looks like one names none."""
    for value in values:
        step = step.replace(value, "''")
    for match in _LINES.finditer(step):
        yield from (int(number) for number in _NUMBER.findall(match[1]) if len(number) < _LONG)


_LONG = 18  # digits: no file has that many lines


def _names(op: Op) -> Iterator[str]:
    if op.f in WRITES and isinstance(op.value, str):
        yield rf"(?<!\w){re.escape(content(op.value))}(?!\w)"
    elif op.f in WRITES and op.value is not None:
        yield rf"{_BEFORE_CONTENT}{re.escape(content(op.value))}(?!\w)"
    elif op.f in WRITES and op.element is not None:
        yield rf"(?<!\w){re.escape(quoted(op.element))}(?!\w)"
    elif op.f == "fence":
        yield rf"\bfence with token {op.token}(?!\w)"
    elif op.f == "acquire" and op.token is not None:
        yield rf"\bgrant of token {op.token}(?!\w)"


def numbered(mentions: Sequence[Mention]) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """The numbers of the steps that name each operation, and each fault."""
    operations: dict[int, tuple[int, ...]] = {}
    bands: dict[int, tuple[int, ...]] = {}
    for number, mention in enumerate(mentions, start=1):
        for index in mention.operations:
            operations[index] = (*operations.get(index, ()), number)
        for place in mention.bands:
            bands[place] = (*bands.get(place, ()), number)
    return operations, bands


def label(steps: Sequence[int]) -> str:
    """Numbers of steps as a badge shows them: "2", "2–4", "1, 3"."""
    if len(steps) > 1 and steps[-1] - steps[0] == len(steps) - 1:
        return f"{steps[0]}–{steps[-1]}"
    return ", ".join(map(str, steps))
