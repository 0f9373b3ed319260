"""Measure a target's lock and its fences: put each load on its servers three times, and judge."""

from __future__ import annotations

import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec import structs

from harness.bench import calibration
from harness.bench.document import (
    AvailabilityDocument,
    BenchDocument,
    HandOverDocument,
    MachineDocument,
    NativeDocument,
    StaleHoldDocument,
    to_ms,
)
from harness.bench.hand_over import HandOver, NotGrantedError, takes
from harness.bench.latencies import Latencies
from harness.bench.native import NativeTools
from harness.bench.orders import Measured
from harness.bench.requirements import judged
from harness.bench.results import LoadResults, rounds_document
from harness.bench.series import (
    PER_CYCLE,
    REPETITIONS,
    SHARES,
    BenchSeries,
    RoundsSeries,
    buffering_series,
    lock_series,
    open_series,
    own_writing,
    rounds_series,
    windows,
    write_series,
)
from harness.bench.stale_holds import StaleHold, stale_holds
from harness.bench.workers import BenchWorkers
from harness.core.duration import NS
from harness.core.errors import InfrastructureError
from harness.spec import Target
from workloads.locks.polling import POLL
from workloads.locks.renewals import PER_TTL

SHORTEST = NS["s"] // 5  # ns; of one repetition of a series
AHEAD = NS["s"] // 20  # ns; until all clients have their order
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """The options of a bench, without its target."""

    lasts: int  # ns; all measurements together
    max_rate: float | None = None  # requests a second of all clients together
    benches: Path = Path("benches")
    command: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Bench:
    """One bench in progress: what is known so far can be written at any moment."""

    target: Target
    options: BenchOptions
    folder: Path
    engine: str
    say: Say
    began: str
    load: float
    interrupted: bool = False
    versions: dict[str, str] = field(default_factory=dict)
    calibrations: list[float] = field(default_factory=list)
    found: dict[BenchSeries, LoadResults] = field(default_factory=dict)
    rounds: dict[RoundsSeries, list[np.ndarray]] = field(default_factory=dict)  # as in Measured
    hand_overs: dict[str, list[int]] = field(default_factory=dict)  # ns; by what ended the hold
    stale_holds: list[StaleHold] = field(default_factory=list)
    availability: list[AvailabilityDocument] = field(default_factory=list)
    native: dict[str, NativeDocument] = field(default_factory=dict)  # by the key of the series
    failures: dict[RoundsSeries, Latencies] = field(default_factory=dict)  # of all writes in the rounds
    native_means: dict[RoundsSeries, list[Mapping[str, float]]] = field(default_factory=dict)
    """ms; by fencing, of each repetition."""
    remarks: list[str] = field(default_factory=list)

    def note(self, remark: str) -> None:
        """Say what was not measured, and why, now and in the document."""
        if remark not in self.remarks:
            self.remarks.append(remark)
            self.say(f"  {remark}")

    @property
    def closed(self) -> list[BenchSeries]:
        """The series that are known from the start, without those above the user's limit."""
        known = [*lock_series(), *write_series(self.target), *buffering_series(self.target)]
        return [each for each in known if self._is_allowed(each)]

    @property
    def in_rounds(self) -> list[RoundsSeries]:
        """The rounds of all ways to write, without those above the user's limit."""
        return [each for each in rounds_series(self.target) if self._is_allowed(each)]

    def _is_allowed(self, series: BenchSeries | RoundsSeries) -> bool:
        limit = self._limit(series)
        return limit is None or (limit > 0 and not (isinstance(series, BenchSeries) and series.waits))

    def _limit(self, series: BenchSeries | RoundsSeries) -> float | None:
        """Return how many operations, or rounds, a second the user allows; None without a limit."""
        if self.options.max_rate is None:
            return None
        renewals = series.clients * series.keeps_lock * PER_TTL * NS["s"] / self.target.lock.ttl
        return (self.options.max_rate - renewals) / series.requests

    @property
    def lasts(self) -> int:
        """How long one repetition of a series lasts (ns)."""
        left = self.options.lasts - takes(self.target.lock.ttl)
        return max(SHORTEST, left // (self.loads * REPETITIONS))

    @property
    def loads(self) -> int:
        """How many loads there are."""
        opened = len(SHARES) + (self.target.bench.acquire_rate is not None)
        return len(self.closed) + len(self.in_rounds) + opened

    @property
    def whole(self) -> int:
        """How long all measurements take, about (ns)."""
        return self.loads * REPETITIONS * (self.lasts + AHEAD) + takes(self.target.lock.ttl)

    def measure(self, clients: BenchWorkers, tools: NativeTools) -> None:
        """Put all loads on the servers, and repeat them; the open loops come last: they need the rates."""
        self.calibrations.append(calibration.calibrate())
        for repetition in range(REPETITIONS):
            self.say(
                f"  repetition {repetition + 1} of {REPETITIONS}:"
                f" {len(self.closed) + len(self.in_rounds)} loads"
            )
            for series in self.closed:
                self._measure(clients, series)
            for each in self.in_rounds:
                self._measure_rounds(clients, each)
                self._measure_native_rounds(tools, each)
            self.calibrations.append(calibration.calibrate())
        self._measure_native_loads(tools)
        self._measure_holds(clients)
        rates = self._offered()
        for repetition in range(REPETITIONS if rates else 0):
            self.say(f"  repetition {repetition + 1} of {REPETITIONS}: {len(rates)} offered rates")
            for series in open_series(rates):
                self._measure(clients, series)
        self.calibrations.append(calibration.calibrate())

    def _measure_native_rounds(self, tools: NativeTools, series: RoundsSeries) -> None:
        """Write in the same ways with the system's own tool, unless the user has set a limit."""
        with self._by_tools() as allowed:
            if allowed and (found := tools.of_rounds(series, self.lasts / NS["s"])):
                self.native_means.setdefault(series, []).append(found)

    def _measure_native_loads(self, tools: NativeTools) -> None:
        """Put the same loads on the servers with their own tools, unless the user has set a limit."""
        with self._by_tools() as allowed:
            for key, found in tools.of_loads(self.lasts / NS["s"]) if allowed else ():
                if found.tool not in {each.tool for each in self.native.values()}:
                    self.say(f"  the same loads by {found.tool}")
                self.native[key] = found

    @contextmanager
    def _by_tools(self) -> Iterator[bool]:
        """Let the block use the systems' own tools, if it may."""
        try:
            yield self.options.max_rate is None
        except InfrastructureError as error:
            self.note(f"the system's own tool failed: {error.sentence}")

    def _measure_holds(self, clients: BenchWorkers) -> None:
        """Measure what depends on the end of a hold."""
        ttl, writing = self.target.lock.ttl, own_writing(self.target)
        asked = 1 / POLL + PER_TTL * NS["s"] / ttl  # by a client that waits, and by one that renews
        most = self.options.max_rate and self.options.max_rate - asked
        if most is not None and most <= 0:
            self.note(f"handing over was not measured: it takes {asked:,.0f} requests a second")
            return
        self.say("  hand-over of the lock after a release, a stop and a death of its holder")
        hand_over = HandOver(clients=clients, ttl=ttl, rng=random.Random(1))
        try:
            for after, samples in hand_over.measure():
                self.hand_overs[after] = samples
            for each in stale_holds(clients, writing, ttl, most) if writing else ():
                self.stale_holds.append(each)
        except NotGrantedError as error:
            self.note(f"{error}")

    def _measure(self, clients: BenchWorkers, series: BenchSeries) -> None:
        rate = self._limit(series) if series.offered is None else series.offered
        measured = self._carry_out(clients, series, rate, is_open=series.offered is not None)
        self.found.setdefault(series, LoadResults(series.operation)).add(measured)

    def _measure_rounds(self, clients: BenchWorkers, series: RoundsSeries) -> None:
        measured = self._carry_out(clients, series, self._limit(series), is_open=False)
        failures = self.failures.setdefault(series, Latencies())
        for each in measured:
            failures.merge(each.latencies.get("write", Latencies()))
        self.rounds.setdefault(series, []).append(np.concatenate([each.rounds for each in measured]))

    def _carry_out(
        self, clients: BenchWorkers, series: BenchSeries | RoundsSeries, rate: float | None, *, is_open: bool
    ) -> list[Measured]:
        begins = time.monotonic_ns() + AHEAD
        window = windows(series.clients, begins, self.lasts, rate, is_open=is_open, most=self._limit(series))
        return clients.carry_out([series.order(client, window(client)) for client in range(series.clients)])

    def _offered(self) -> list[float]:
        """Return the rates of the open loops: shares of the highest, and the required one, if allowed."""
        highest = max(
            (self.found[each].document(each, self.lasts / NS["s"]).rate.value or 0)
            for each in lock_series()
            if each.is_uncontended
        )
        required = self.target.bench.acquire_rate
        shares = [float(f"{highest * share:.3g}") for share in SHARES] if highest else []
        asked = [*shares, *([required] if required is not None else [])]
        most = self.options.max_rate
        return [rate for rate in asked if most is None or rate * PER_CYCLE <= most]

    def document(self) -> BenchDocument:
        """Return what is known so far, and what it says of the requirements."""
        seconds, spread = self.lasts / NS["s"], calibration.spread_of(self.calibrations)
        found = BenchDocument(
            target=self.target.name,
            lock=self.target.lock.kind,
            storage=self.target.storage.kind,
            fencing=self.target.storage.fencing,
            engine=self.engine,
            began=self.began,
            seconds=round(seconds, 3),
            max_rate=self.options.max_rate,
            interrupted=self.interrupted,
            machine=MachineDocument(
                cpus=os.cpu_count() or 1,
                governor=calibration.governor(),
                kernel=f"{platform.system()} {platform.release()}",
                load=round(self.load, 2),
                calibrations=[round(each) for each in self.calibrations],
                spread=round(spread, 3),
                is_noisy=calibration.is_noisy(self.calibrations),
            ),
            series=[
                structs.replace(each.document(series, seconds), native=self.native.get(series.key))
                for series, each in self.found.items()
            ],
            rounds=[
                rounds_document(series, each, self.failures[series], self.native_means.get(series, []))
                for series, each in self.rounds.items()
            ],
            hand_overs=[
                HandOverDocument(
                    after=after,
                    samples=[to_ms(each) for each in samples],
                    median=to_ms(statistics.median(samples)),
                )
                for after, samples in self.hand_overs.items()
            ],
            stale_holds=[
                StaleHoldDocument(believed=to_ms(each.believed), writes=each.writes)
                for each in self.stale_holds
            ],
            availability=self.availability,
            requirements=[],
            remarks=self.remarks,
            versions=self.versions,
        )
        return judged(found, self.target.bench)
