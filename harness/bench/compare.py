"""Two benches side by side: which figures differ by more than their 95 % intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from checkers.text import limits
from harness.bench.document import (
    BENCH,
    BenchDocument,
    IntervalDocument,
    RoundsDocument,
    SeriesDocument,
    WritingDocument,
)
from harness.bench.tables import NOISY, BenchTable, load_of, ms, signed, way
from harness.core.errors import ConfigurationError
from harness.core.paths import path_of
from harness.files import dated_folders, received
from harness.report.sentences import count

SAME = "no difference shown"
_REMEDY = "no bench writes that much"


def read(word: str, benches: Path) -> BenchDocument:
    """Read a bench, by its folder, its bench.json, or its target for the newest; ConfigurationError."""
    named = path_of(word)
    folder = named.parent if named.name == BENCH else named
    if not folder.is_dir():
        folder = benches / word
    if not received.exists(folder, BENCH):
        complete = (each for each in dated_folders.newest_first(folder) if received.exists(each, BENCH))
        folder = next(complete, folder)
    content = received.read_json(folder, BENCH, most=limits.DOCUMENT, remedy=_REMEDY)
    if content is None:
        raise ConfigurationError(
            f"{word}: no bench; name its folder, its {BENCH}, or a target in {benches} for the newest"
        )
    try:
        return msgspec.json.decode(content, type=BenchDocument)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{folder / BENCH}: not the document of a bench: {error}") from None


class ComparedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of both benches."""

    table: str
    name: str  # such as a load
    first: IntervalDocument
    second: IntervalDocument
    answer: str


class ComparisonDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Two benches, as --format json prints them; rates a second, times in ms."""

    schema: int = 1
    benches: tuple[str, str]
    warnings: list[str]  # why the figures may differ for another reason
    figures: list[ComparedFigure]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text output."""
        for name, each in zip(("first", "second"), self.benches, strict=True):
            yield f"{name:6} {each}"
        yield from (f"  {warning}" for warning in self.warnings)
        for table, figures in itertools.groupby(self.figures, key=lambda figure: figure.table):
            yield from BenchTable(title=table, rows=[_HEADS, *map(_row, figures)]).lines()


def comparison(first: BenchDocument, second: BenchDocument) -> ComparisonDocument:
    """Compare what both have measured."""
    return ComparisonDocument(
        benches=(_described(first), _described(second)),
        warnings=list(_warnings(first, second)),
        figures=list(_figures(first, second)),
    )


def _described(found: BenchDocument) -> str:
    noisy = f", {NOISY}" if found.machine.is_noisy else ""
    return f"{found.target}, {found.began}, engine {found.engine}{noisy}"


_CONDITIONS: Mapping[str, Callable[[BenchDocument], str]] = {
    "targets": lambda found: found.target,
    "locks": lambda found: found.lock,
    "storages": lambda found: found.storage,
    "engines": lambda found: found.engine,
    "versions": lambda found: ", ".join(sorted({*found.versions.values()})) or "unknown",
    "machines": lambda found: f"{count(found.machine.cpus, 'core')} with {found.machine.kernel}",
    "--max-rate": lambda found: f"{found.max_rate:,g}" if found.max_rate else "none",
}


def _warnings(first: BenchDocument, second: BenchDocument) -> Iterator[str]:
    for name, condition in _CONDITIONS.items():
        if (one := condition(first)) != (other := condition(second)):
            yield f"different {name}: {one} and {other}"


RATES, TAILS = "operations a second", "99th percentile"
COSTS = "what the fence adds to a write on average, 1 client"
_SHOWN: Mapping[str, Callable[[float], str]] = {RATES: "{:,.0f}".format, TAILS: ms, COSTS: signed}
_OF_LOADS: Mapping[str, Callable[[SeriesDocument], IntervalDocument]] = {
    RATES: lambda series: series.rate,
    TAILS: lambda series: series.own.p99,
}
_WORDS = {RATES: ("faster", "slower"), TAILS: ("slower", "faster"), COSTS: ("dearer", "cheaper")}
"""For a second figure that is higher, and for one that is lower."""
_HEADS = ("", "first", "second", "change", "")


def _figures(first: BenchDocument, second: BenchDocument) -> Iterator[ComparedFigure]:
    noisy = first.machine.is_noisy or second.machine.is_noisy
    both = [(each, other) for each in first.series if (other := second.of(each.key)) is not None]
    for table, figure in _OF_LOADS.items():
        for each, other in both:
            name, doubt = f"{each.operation}, {load_of(each)}", noisy or each.is_noisy or other.is_noisy
            yield _compared(table, name, figure(each), figure(other), doubt)
    others = {_name(each): each for each in _of_one_client(second).writings}
    for writing in _of_one_client(first).writings:
        beside = others.get(_name(writing))
        if beside is not None and writing.overhead is not None and beside.overhead is not None:
            doubt = noisy or writing.is_noisy or beside.is_noisy
            yield _compared(COSTS, _name(writing), writing.overhead, beside.overhead, doubt)


def _name(writing: WritingDocument) -> str:
    return way(writing.fencing, logged=writing.logged, raises_mark=writing.raises_mark)


def _of_one_client(found: BenchDocument) -> RoundsDocument:
    none = RoundsDocument(clients=1, rounds=0, writings=[])
    return next((each for each in found.rounds if each.clients == 1), none)


def _compared(
    table: str,
    name: str,
    first: IntervalDocument,
    second: IntervalDocument,
    is_noisy: bool,  # noqa: FBT001 - one of the figures of a row
) -> ComparedFigure:
    before, after = first.interval, second.interval
    higher, lower = _WORDS[table]
    answer = higher if after.low > before.high else lower if after.high < before.low else SAME
    answer = NOISY if is_noisy and answer != SAME else answer
    return ComparedFigure(table=table, name=name, first=first, second=second, answer=answer)


def _row(figure: ComparedFigure) -> tuple[str, ...]:
    before, after = figure.first.interval.value, figure.second.interval.value
    change = f"{after / before - 1:+.0%}" if 0 < before < math.inf and 0 < after < math.inf else ""
    shown = _SHOWN[figure.table]
    return (figure.name, shown(before), shown(after), change, figure.answer)
