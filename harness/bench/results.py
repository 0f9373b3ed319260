"""What the repetitions of a load found, joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from harness.bench.document import (
    MS,
    LatencyDocument,
    RoundsDocument,
    SeriesDocument,
    WritingDocument,
    in_ms,
    is_noisy,
    of_interval,
    to_ms,
)
from harness.bench.intervals import Interval, in_blocks, of_mean
from harness.bench.latencies import ENOUGH_FOR_P999, Latencies
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
                merged.setdefault(f, Latencies()).merge(found)
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
            is_noisy=is_noisy(medians) or not all(each[self.operation].all for each in self.repetitions),
        )


def rounds_document(
    series: RoundsSeries,
    repetitions: Sequence[np.ndarray],
    writes: Latencies,
    native: Sequence[Mapping[str, float]],
) -> RoundsDocument:
    """Return the mean of each way to write, and by how much it exceeds the same one without a fence.

    The repetitions are arrays as in `Measured`, without rounds of which a write failed; `writes` are all;
    `native` has what the system's own tool found (ms).
    """
    latencies = [each[:, :, 0] for each in repetitions]
    every, computed = np.concatenate(latencies), np.concatenate(repetitions)[:, :, 1]
    columns = {writing: number for number, writing in enumerate(series.writings)}
    beside = columns[PLAIN]

    def document(writing: Writing, column: int) -> WritingDocument:
        differences = every[:, column] - every[:, beside]
        is_plain = beside == column or writing.raises_mark or not len(every)
        medians = [in_ms(np.median(each[:, column])) if len(each) else None for each in latencies]
        return WritingDocument(
            fencing=writing.fencing,
            logged=writing.logged,
            raises_mark=writing.raises_mark,
            mean=to_ms(every[:, column].mean()) if len(every) else 0.0,
            p50=to_ms(np.median(every[:, column])) if len(every) else 0.0,
            processor=to_ms(computed[:, column].mean()) if len(every) else None,
            is_noisy=is_noisy(medians),
            overhead=None if is_plain else of_interval(overhead(latencies, column, beside), MS),
            median_overhead=None if is_plain else to_ms(np.median(differences)),
        )

    return RoundsDocument(
        clients=series.clients,
        rounds=len(every),
        lost=writes.failed + writes.unknown,
        error=writes.error,
        writings=[document(writing, column) for writing, column in columns.items()],
        native={
            name: round(fmean(each[name] for each in native), 4) for name in (native[0] if native else ())
        },
        native_repetitions=[dict(each) for each in native],
    )


def overhead(repetitions: Sequence[np.ndarray], column: int, plain: int) -> Interval:
    """Return the mean difference of two columns (ns), by blocks of consecutive rounds."""
    blocks = [
        block
        for each in repetitions
        for block in in_blocks((each[:, column] - each[:, plain]).tolist(), _ROUND_BLOCKS)
    ]
    return of_mean(blocks)


_PERCENTILES = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99)
_BEYOND = 10  # samples


def of_latencies(found: Latencies) -> LatencyDocument:
    """Return the percentiles of one operation."""
    return LatencyDocument(
        count=found.ok,
        failed=found.failed,
        unknown=found.unknown,
        unsent=found.unsent,
        error=found.error,
        mean=round(found.mean / MS, 4),
        p50=in_ms(found.quantile(0.5)),
        p90=in_ms(found.quantile(0.9)),
        p99=of_interval(found.interval(0.99), MS),
        p999=in_ms(found.quantile(0.999)) if found.all >= ENOUGH_FOR_P999 else None,
        max=in_ms(float(found.histogram.get_max_value())) if found.ok else None,
        curve=list(_curve(found)),
    )


def _curve(found: Latencies) -> Iterator[tuple[float, float]]:
    for percent in _PERCENTILES:
        value = in_ms(found.quantile(percent / 100))
        if value is not None and found.all * (100 - percent) >= 100 * _BEYOND:
            yield percent, value
