"""What each step of a finding is about: the operations and the faults on its lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checkers.history.columns import Operations
from checkers.history.records import Op
from checkers.vocabulary.document import FindingDocument
from harness.report.bands import Band
from harness.report.rows import Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """What one step is about."""

    operations: tuple[int, ...]  # indexes, in the order of their calls
    bands: tuple[int, ...]  # positions among the faults of the run


class Mentions:
    """Finds the operations and faults on some lines."""

    def __init__(self, operations: Sequence[Op], bands: Sequence[Band]) -> None:
        self.lines = Lines(Operations.of(operations))
        self._bands = {line: place for place, band in enumerate(bands) for line in band.lines}

    def of(self, finding: FindingDocument) -> tuple[Mention, ...]:
        """One for each step."""
        return tuple(
            Mention(
                operations=tuple(sorted({op.index for op in self.lines.of(lines)})), bands=self.bands(faults)
            )
            for lines, faults in zip(finding.step_lines, finding.step_faults, strict=True)
        )

    def bands(self, lines: Iterable[int]) -> tuple[int, ...]:
        """The faults on some lines."""
        return tuple(sorted({self._bands[line] for line in lines if line in self._bands}))


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
