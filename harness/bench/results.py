"""What the repetitions of a load found, joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.bench.document import (
    MS,
    RoundsDocument,
    SeriesDocument,
    WritingDocument,
    in_ms,
    is_noisy,
    of_interval,
    of_latencies,
    to_ms,
)
from harness.bench.intervals import Interval, in_blocks, of_mean
from harness.bench.latencies import Latencies
from harness.bench.orders import BLOCKS, Measured, Writing
from harness.bench.series import PLAIN, BenchSeries, RoundsSeries

_ROUND_BLOCKS = 10  # of a repetition, for the interval of a mean


@dataclass(slots=True)
class LoadResults:
    """What the repetitions of one load have measured so far."""

    operation: str
    repetitions: list[dict[str, Latencies]] = field(default_factory=list)

    def add(self, measured: Sequence[Measured]) -> None:
        """Add one repetition, as all clients have measured it."""
        merged: dict[str, Latencies] = {}
        for each in measured:
            for f, found in each.latencies.items():
                into = merged.setdefault(f, Latencies(blocks=[0] * BLOCKS))
                into.merge(found)
                into.blocks = [mine + its for mine, its in zip(into.blocks, found.blocks, strict=True)]
        merged.setdefault(self.operation, Latencies(blocks=[0] * BLOCKS))
        self.repetitions.append(merged)

    def document(self, series: BenchSeries, seconds: float) -> SeriesDocument:
        """Return all repetitions, of which each has lasted so long."""
        per_second = BLOCKS / seconds
        rates = [count * per_second for each in self.repetitions for count in each[self.operation].blocks]
        medians = [in_ms(each[self.operation].quantile(0.5)) for each in self.repetitions]
        every: dict[str, Latencies] = {}
        for each in self.repetitions:
            for f, found in each.items():
                every.setdefault(f, Latencies()).merge(found)
        return SeriesDocument(
            key=series.key,
            operation=series.operation,
            fencing=series.writing.fencing if series.writing else "",
            clients=series.clients,
            resources=series.resources,
            offered=series.offered,
            lock=series.lock,
            rate=of_interval(of_mean(rates)),
            latencies={f: of_latencies(found) for f, found in every.items()},
            medians=medians,
            is_noisy=is_noisy(medians),
        )


def rounds_document(series: RoundsSeries, repetitions: Sequence[np.ndarray]) -> RoundsDocument:
    """Return the mean of each way to write, and by how much it exceeds the same one without a fence."""
    every = np.concatenate(repetitions)
    columns = {writing: number for number, writing in enumerate(series.writings)}
    beside = columns[PLAIN]

    def document(writing: Writing, column: int) -> WritingDocument:
        differences = every[:, column] - every[:, beside]
        is_plain = beside == column or writing.raises_mark or not len(every)
        return WritingDocument(
            fencing=writing.fencing,
            logged=writing.logged,
            raises_mark=writing.raises_mark,
            mean=to_ms(every[:, column].mean()) if len(every) else 0.0,
            p50=to_ms(np.median(every[:, column])) if len(every) else 0.0,
            overhead=None if is_plain else of_interval(overhead(repetitions, column, beside), MS),
            median_overhead=None if is_plain else to_ms(np.median(differences)),
        )

    return RoundsDocument(
        clients=series.clients,
        rounds=len(every),
        writings=[document(writing, column) for writing, column in columns.items()],
    )


def overhead(repetitions: Sequence[np.ndarray], column: int, plain: int) -> Interval:
    """Return the mean difference of two columns (ns), by blocks of consecutive rounds."""
    blocks = [
        block
        for each in repetitions
        for block in in_blocks((each[:, column] - each[:, plain]).tolist(), _ROUND_BLOCKS)
    ]
    return of_mean(blocks)
