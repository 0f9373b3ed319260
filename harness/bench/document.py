"""What a bench found, as bench.json has it: fields may be added, never renamed.

Latencies are in ms, rates a second. A percentile that was not reached, because too many operations failed,
is null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from harness.bench.intervals import TOO_DIFFERENT, Decision, Interval, spread
from harness.core.duration import NS

BENCH = "bench.json"


class IntervalDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A figure, and the bounds of its 95 % interval; null: there is none."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> Interval:
        """The same with infinite bounds; both are infinite if even the lower one is never reached."""
        high, value = (math.inf if each is None else each for each in (self.high, self.value))
        without = -math.inf if math.isfinite(value) else math.inf
        return Interval(without if self.low is None else self.low, value, high)


class LatencyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The latencies of one operation (ms), and how many ended in each way."""

    count: int  # that ended ok
    failed: int
    unknown: int
    unsent: int
    error: str  # the first one
    mean: float
    p50: float | None
    p90: float | None
    p99: IntervalDocument
    p999: float | None  # null also with fewer than 10,000 samples
    max: float | None
    curve: list[tuple[float, float]]  # percentiles (%) with at least ten samples beyond them, and ms

    @property
    def lost(self) -> int:
        """How many were without success."""
        return self.failed + self.unknown


class NativeDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The same load by the system's own tool, next to the server."""

    tool: str  # such as "pgbench"
    rate: float  # a second, with as many clients
    mean: float  # ms

    def shared_by(self, requests: int) -> NativeDocument:
        """Return the same for an operation that takes so many of its requests, one after another."""
        return NativeDocument(tool=self.tool, rate=self.rate / requests, mean=self.mean * requests)


class SeriesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One load, measured in several repetitions."""

    key: str  # names it in another bench too, such as "acquire/8 clients/8 resources"
    operation: str  # "acquire" or "write"
    fencing: str  # "": of a lock
    clients: int
    resources: int
    offered: float | None  # operations a second of an open loop; null: each client as fast as it can
    lock: str  # "for each write", or "kept" and renewed; "": writes without a lock, or no writes
    rate: IntervalDocument  # that ended ok, a second
    latencies: dict[str, LatencyDocument]  # by operation
    medians: list[float | None]  # ms; of each repetition
    is_noisy: bool  # do the medians differ by more than 15 %?
    native: NativeDocument | None = None  # None: there is no such tool

    def __post_init__(self) -> None:
        """Refuse a document of a stranger that has no latencies of its own operation."""
        if self.operation not in self.latencies:
            raise ValueError(f"no latencies of {self.operation}")

    @property
    def own(self) -> LatencyDocument:
        """The latencies of its own operation."""
        return self.latencies[self.operation]

    @property
    def noise(self) -> float:
        """By what share of the middle one the medians differ, if that is too much; otherwise 0."""
        if not self.is_noisy:
            return 0.0
        known = [median for median in self.medians if median is not None]
        return spread(known) if len(known) == len(self.medians) else math.inf

    @property
    def is_limited_by_driver(self) -> bool:
        """Does the system's own tool reach more than twice the rate?"""
        return self.native is not None and (self.rate.value or 0) < self.native.rate / 2


class WritingDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One way to write, among all in turn on one connection."""

    fencing: str
    logged: bool
    raises_mark: bool
    mean: float  # ms
    p50: float
    overhead: IntervalDocument | None  # ms more than the same write without a fence, on average
    median_overhead: float | None
    processor: float | None = None  # ms of the mean in which this client computed; the rest it waited
    is_noisy: bool = False  # do the medians of the repetitions differ by more than 15 %?


class RoundsDocument(msgspec.Struct, frozen=True, kw_only=True):
    """All ways to write, in turn on one connection for each client."""

    clients: int
    rounds: int  # in which all writes succeeded
    writings: list[WritingDocument]
    lost: int = 0  # writes without success, whose rounds do not count
    error: str = ""  # the first one
    native: dict[str, float] = {}  # ms; the mean of each fencing by the system's own tool
    native_repetitions: list[dict[str, float]] = []  # the same of each repetition

    def native_overheads(self, fencing: str) -> list[float]:
        """Return what a fence adds by the system's own tool (ms), in each repetition."""
        known = self.native_repetitions or [self.native]
        return [each[fencing] - each["none"] for each in known if {fencing, "none"} <= each.keys()]


class HandOverDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How long a lock took to go to a client that waited for it (ms)."""

    after: str  # its holder's "release", "stop" (SIGSTOP) or "kill"
    samples: list[float]
    median: float


class StaleHoldDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A holder that kept its lock, and was stopped until another client had it."""

    believed: float  # ms; from the grant of the other until it learned that its lease was lost
    writes: int  # that it sent in that time


class AvailabilityDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What one fault on servers did to the writes that the storage accepted; rates a second, times in ms."""

    fault: str  # its kind
    target: str
    lasted: float  # from when it was seen in force until it was seen healed
    without_writes: float  # the longest time without a write around it
    before: float | None  # in the three seconds before it, and before that time
    during: float | None
    after: float | None  # in the three seconds after both; null: the run ended
    first_write: float | None  # from its begin until a write with a lock that was granted since; null: none


class RequirementDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement of [bench], and whether it holds."""

    name: str
    unit: str  # "a second", of which it wants at least so many; or "ms", at most
    bound: float
    measured: IntervalDocument | None  # null: it could not be measured
    answer: str
    why: str  # it is undecided; "" otherwise


class MachineDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The machine, and how steady it was."""

    cpus: int
    governor: str  # "": the kernel shows none
    kernel: str
    load: float  # before the start
    calibrations: list[float]  # pieces of work a second
    spread: float
    is_noisy: bool


class BenchDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One bench of one target."""

    schema: Literal[1] = 1
    target: str
    lock: str
    storage: str
    fencing: str
    engine: str
    began: str  # ISO 8601, UTC
    seconds: float  # of each repetition of a series
    max_rate: float | None
    interrupted: bool
    machine: MachineDocument
    series: list[SeriesDocument]
    rounds: list[RoundsDocument]
    hand_overs: list[HandOverDocument]
    stale_holds: list[StaleHoldDocument]
    availability: list[AvailabilityDocument]
    requirements: list[RequirementDocument]
    remarks: list[str] = []  # what was not measured, and why
    versions: dict[str, str]

    def of(self, key: str) -> SeriesDocument | None:
        """Return the series with this key."""
        return next((each for each in self.series if each.key == key), None)


def in_ms(ns: float) -> float | None:
    """Return a latency (ns) as files have it."""
    return to_ms(ns) if math.isfinite(ns) else None


def to_ms(ns: float) -> float:
    """Return a known duration (ns) as files have it."""
    return round(float(ns) / MS, 4)


def of_interval(interval: Interval, unit: float = 1.0) -> IntervalDocument:
    """Return an interval in another unit, such as ms."""
    value, low, high = (
        round(each / unit, 4) if math.isfinite(each) else None
        for each in (interval.value, interval.low, interval.high)
    )
    return IntervalDocument(value=value, low=low, high=high)


MS = NS["ms"]


def is_noisy(medians: Sequence[float | None]) -> bool:
    """Do the medians of repetitions differ too much? Not if all were never reached."""
    known = [median for median in medians if median is not None]
    return 0 < len(known) < len(medians) or (len(known) > 1 and spread(known) > TOO_DIFFERENT)


def answer_of(document: BenchDocument) -> Decision:
    """Return the worst answer of all requirements; met without any."""
    answers = {each.answer for each in document.requirements}
    worst_first = (Decision.MISSED, Decision.UNDECIDED)
    return next((each for each in worst_first if each.value in answers), Decision.MET)
