"""Does what was measured meet [bench]? Met or missed only if the whole interval says so.

Noise makes an interval wider: by the share by which the repetitions, or the machine's speed, differed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec import structs

from harness.bench.document import (
    MS,
    BenchDocument,
    IntervalDocument,
    RequirementDocument,
    SeriesDocument,
    WritingDocument,
)
from harness.bench.intervals import Decision, Interval
from harness.report.sentences import count
from harness.spec.bench import BenchSpec

A_SECOND = "a second"
USUAL = 8  # clients
INTERRUPTED = "the bench was interrupted"
NOT_MEASURED = "it was not measured"
STRADDLES = "the 95 % interval has the bound in it: measure longer with --for"
NOISY_MACHINE = "this machine was too noisy: its speed changed by {spread:.0%} during the bench"
NOISY_SERIES = "too noisy here: the medians of the repetitions differ by more than 15 %"
BY_DRIVER = "limited by the driver: {tool} reaches {rate:,.0f} a second"
LIMITED = "--max-rate limits it to {rate:,g} requests a second"


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure, and what may be wrong with it."""

    interval: Interval
    noise: float = 0.0  # the share by which the repetitions differ, if that is too much
    limited_by: str = ""  # why it may be better than it was measured
    doubt: str = ""  # why its interval is not known


def judged(found: BenchDocument, spec: BenchSpec) -> BenchDocument:
    """Return the document with an answer for each requirement."""
    return structs.replace(found, requirements=list(_answers(found, spec)))


def _answers(found: BenchDocument, spec: BenchSpec) -> Iterator[RequirementDocument]:
    required: tuple[tuple[str, str, float | None, Callable[[], _Figure | None]], ...] = (
        ("acquire_rate", A_SECOND, spec.acquire_rate, lambda: _rate(found, "acquire", "", spec.acquire_rate)),
        ("acquire_p99", "ms", spec.acquire_p99, lambda: _acquire_p99(found, spec)),
        (
            "write_rate",
            A_SECOND,
            spec.write_rate,
            lambda: _rate(found, "write", found.fencing, spec.write_rate),
        ),
        ("write_p99", "ms", spec.write_p99, lambda: _p99(found, "write", found.fencing)),
        ("fence_overhead", "ms", spec.fence_overhead, lambda: _overhead(found)),
    )
    for name, unit, bound, figure in required:
        if bound is not None:
            yield _judge(found, name, unit, bound if unit == A_SECOND else bound / MS, figure())


def _judge(
    found: BenchDocument, name: str, unit: str, bound: float, figure: _Figure | None
) -> RequirementDocument:
    if figure is None:
        why = NOT_MEASURED if found.max_rate is None else LIMITED.format(rate=found.max_rate)
        return RequirementDocument(
            name=name, unit=unit, bound=bound, measured=None, answer=Decision.UNDECIDED.value, why=why
        )
    interval = figure.interval
    noise = max(figure.noise, found.machine.spread if found.machine.is_noisy else 0.0)
    widened = interval.widened(noise)
    answer = widened.at_least(bound) if unit == A_SECOND else widened.at_most(bound)
    why = _doubt(found, figure) if answer is Decision.UNDECIDED else ""
    if figure.limited_by and answer is Decision.MISSED:
        answer, why = Decision.UNDECIDED, figure.limited_by
    if found.interrupted:
        answer, why = Decision.UNDECIDED, INTERRUPTED
    value, low, high = (
        each if math.isfinite(each) else None for each in (interval.value, interval.low, interval.high)
    )
    measured = IntervalDocument(value=value, low=low, high=high)
    return RequirementDocument(
        name=name, unit=unit, bound=bound, measured=measured, answer=answer.value, why=why
    )


def _doubt(found: BenchDocument, figure: _Figure) -> str:
    if figure.doubt:
        return figure.doubt
    if found.machine.is_noisy:
        return NOISY_MACHINE.format(spread=found.machine.spread)
    return NOISY_SERIES if figure.noise else STRADDLES


def _uncontended(found: BenchDocument, operation: str, fencing: str) -> list[SeriesDocument]:
    return [
        each
        for each in found.series
        if (each.operation, each.fencing) == (operation, fencing)
        and each.clients == each.resources
        and each.offered is None
        and not each.lock
    ]


def _rate(found: BenchDocument, operation: str, fencing: str, bound: float | None) -> _Figure | None:
    """Return the highest rate of the closed loops without contention."""
    series = _uncontended(found, operation, fencing)
    if not series:
        return None
    best = max(series, key=lambda each: each.rate.value or 0)
    return _Figure(best.rate.interval, best.noise, _limit(found, best, bound))


def _limit(found: BenchDocument, series: SeriesDocument, bound: float | None) -> str:
    """Say what but the servers may have limited a load: the user, or the driver.

    `bound` is the required rate; a tool that does not reach it either proves that the servers are the limit.
    """
    if found.max_rate is not None:
        return LIMITED.format(rate=found.max_rate)
    native = series.native
    if native is None or not (series.is_limited_by_driver if bound is None else native.rate >= bound):
        return ""
    return BY_DRIVER.format(tool=native.tool, rate=native.rate)


def _usual(found: BenchDocument, operation: str, fencing: str) -> SeriesDocument | None:
    series = _uncontended(found, operation, fencing)
    return next((each for each in series if each.clients == USUAL), None)


def _acquire_p99(found: BenchDocument, spec: BenchSpec) -> _Figure | None:
    """Return that of the open loop at the required rate; without one, of the closed loop of eight clients."""
    if spec.acquire_rate is None:
        return _p99(found, "acquire", "")
    series = next((each for each in found.series if each.offered == spec.acquire_rate), None)
    rate = _rate(found, "acquire", "", spec.acquire_rate)
    if series is None or rate is None:
        return None
    return _Figure(series.own.p99.interval, series.noise, rate.limited_by)


def _p99(found: BenchDocument, operation: str, fencing: str) -> _Figure | None:
    series = _usual(found, operation, fencing)
    if series is None:
        return None
    return _Figure(series.own.p99.interval, series.noise, _limit(found, series, None))


def _overhead(found: BenchDocument) -> _Figure | None:
    """Return what the target's fencing adds to a write of one client, without the log if that can be."""
    rounds = next((each for each in found.rounds if each.clients == 1), None)
    own = [each for each in rounds.writings if _is_own(each, found)] if rounds else []
    overhead = own[-1].overhead if own else None
    if rounds is None or overhead is None:
        return None
    if not rounds.lost:
        return _Figure(overhead.interval)
    lost = f"{count(rounds.lost, 'write')} of the rounds had no success: {rounds.error}"
    return _Figure(Interval(-math.inf, overhead.interval.value, math.inf), doubt=lost)


def _is_own(writing: WritingDocument, found: BenchDocument) -> bool:
    return writing.fencing == found.fencing and not writing.raises_mark
