"""What a bench found, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.bench.document import (
    BenchDocument,
    IntervalDocument,
    LatencyDocument,
    MachineDocument,
    NativeDocument,
    RoundsDocument,
    SeriesDocument,
    WritingDocument,
)


def interval(low: float | None, value: float | None, high: float | None) -> IntervalDocument:
    return IntervalDocument(low=low, value=value, high=high)


def latency(p99: IntervalDocument, error: str) -> LatencyDocument:
    return LatencyDocument(
        count=100,
        failed=1 if error else 0,
        unknown=0,
        unsent=0,
        error=error,
        mean=1,
        p50=1,
        p90=1,
        p99=p99,
        p999=None,
        max=9,
        curve=[(50.0, 1.0), (99.0, 5.0)],
    )


RATE = interval(900, 1000, 1100)
P99 = interval(4, 5, 6)


def series(
    clients: int = 8,
    at: int = 8,
    rate: IntervalDocument = RATE,
    p99: IntervalDocument = P99,
    *,
    operation: str = "acquire",
    fencing: str = "",
    offered: float | None = None,
    is_noisy: bool = False,
    error: str = "",
    native: float | None = None,
    medians: Sequence[float | None] = (1, 1, 1),
) -> SeriesDocument:
    return SeriesDocument(
        key="",
        operation=operation,
        fencing=fencing,
        clients=clients,
        resources=at,
        offered=offered,
        lock="",
        rate=rate,
        latencies={operation: latency(p99, error)},
        medians=list(medians),
        is_noisy=is_noisy,
        native=None if native is None else NativeDocument(tool="pgbench", rate=native, mean=1),
    )


def rounds(low: float, value: float, high: float) -> RoundsDocument:
    writing = WritingDocument(
        fencing="upsert",
        logged=False,
        raises_mark=False,
        mean=1,
        p50=1,
        overhead=interval(low, value, high),
        median_overhead=1,
    )
    return RoundsDocument(clients=1, rounds=100, writings=[writing])


def bench(*found: SeriesDocument, is_noisy: bool = False, **more: Any) -> BenchDocument:
    machine = MachineDocument(
        cpus=2, governor="", kernel="", load=0, calibrations=[1], spread=0.2, is_noisy=is_noisy
    )
    known: dict[str, Any] = {
        "rounds": [],
        "hand_overs": [],
        "stale_holds": [],
        "availability": [],
        "max_rate": None,
        "interrupted": False,
        **more,
    }
    return BenchDocument(
        target="t",
        lock="redis",
        storage="postgres",
        fencing="upsert",
        engine="docker",
        began="",
        seconds=1,
        machine=machine,
        series=list(found),
        requirements=[],
        versions={},
        **known,
    )
