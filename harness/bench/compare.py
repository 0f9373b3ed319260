"""Two benches side by side: which figures differ by more than their 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from checkers.text import limits
from harness.bench.document import BENCH, BenchDocument, IntervalDocument, RoundsDocument, WritingDocument
from harness.bench.tables import NOISY, BenchTable, load_of, ms, signed, way
from harness.core.errors import ConfigurationError
from harness.core.paths import path_of
from harness.files import dated_folders, received

SAME = "no difference shown"
_REMEDY = "no bench writes that much"


def read(word: str, benches: Path) -> BenchDocument:
    """Read a bench, by its folder, its bench.json, or its target for the newest; ConfigurationError."""
    named = path_of(word)
    folder = named.parent if named.name == BENCH else named
    if not folder.is_dir():
        folder = benches / word
    if not received.exists(folder, BENCH):
        folder = dated_folders.latest(folder) or folder
    content = received.read_json(folder, BENCH, most=limits.DOCUMENT, remedy=_REMEDY)
    if content is None:
        raise ConfigurationError(
            f"{word}: no bench; name its folder, its {BENCH}, or a target in {benches} for the newest"
        )
    try:
        return msgspec.json.decode(content, type=BenchDocument)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{folder / BENCH}: not the document of a bench: {error}") from None


def compared(first: BenchDocument, second: BenchDocument) -> Iterator[BenchTable]:
    """Yield the tables of what both have measured."""
    both = [(each, other) for each in first.series if (other := second.of(each.key)) is not None]
    noisy = first.machine.is_noisy or second.machine.is_noisy
    doubts = [noisy or each.is_noisy or other.is_noisy for each, other in both]
    rates = [
        (f"{each.operation}, {load_of(each)}", each.rate, other.rate, doubt)
        for (each, other), doubt in zip(both, doubts, strict=True)
    ]
    tails = [
        (f"{each.operation}, {load_of(each)}", each.own.p99, other.own.p99, doubt)
        for (each, other), doubt in zip(both, doubts, strict=True)
    ]
    costs = [(*each, noisy) for each in _costs(first, second)]
    for title, figures, shown, words in (
        ("operations a second", rates, "{:,.0f}".format, ("faster", "slower")),
        ("99th percentile", tails, ms, ("slower", "faster")),
        ("what the fence adds to a write on average, 1 client", costs, signed, ("dearer", "cheaper")),
    ):
        if figures:
            rows = [_row(*each, shown, words) for each in figures]
            yield BenchTable(title=title, rows=[_HEADS, *rows])


_HEADS = ("", "first", "second", "change", "")
_Figures = tuple[str, IntervalDocument, IntervalDocument]


def _costs(first: BenchDocument, second: BenchDocument) -> Iterator[_Figures]:
    others = {_name(each): each.overhead for each in _of_one_client(second).writings}
    for each in _of_one_client(first).writings:
        other = others.get(_name(each))
        if each.overhead is not None and other is not None:
            yield (_name(each), each.overhead, other)


def _name(writing: WritingDocument) -> str:
    return way(writing.fencing, logged=writing.logged, raises_mark=writing.raises_mark)


def _of_one_client(found: BenchDocument) -> RoundsDocument:
    none = RoundsDocument(clients=1, rounds=0, writings=[])
    return next((each for each in found.rounds if each.clients == 1), none)


def _row(
    name: str,
    first: IntervalDocument,
    second: IntervalDocument,
    is_noisy: bool,  # noqa: FBT001 - one of the figures of a row
    shown: Callable[[float], str],
    words: tuple[str, str],
) -> tuple[str, ...]:
    """Return a row; the words are for a second figure that is higher, and for one that is lower."""
    before, after = first.interval, second.interval
    change = f"{after.value / before.value - 1:+.0%}" if before.value > 0 and after.value > 0 else ""
    higher, lower = words
    verdict = higher if after.low > before.high else lower if after.high < before.low else SAME
    verdict = NOISY if is_noisy and verdict != SAME else verdict
    return (name, shown(before.value), shown(after.value), change, verdict)
