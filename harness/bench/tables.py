"""A bench as lines of text: a row for each load, what each fence adds, and the requirements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.bench.document import (
    AvailabilityDocument,
    BenchDocument,
    HandOverDocument,
    IntervalDocument,
    RequirementDocument,
    RoundsDocument,
    SeriesDocument,
    WritingDocument,
)
from harness.report.sentences import count

NOISY = "too noisy here"
REMARKS = "remarks"
_HEAD = ("load", "a second", "p50", "p90", "p99", "p99.9", "max", REMARKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTable:
    """Rows under a title; the first row has the heads."""

    title: str
    rows: Sequence[tuple[str, ...]]

    def lines(self) -> Iterator[str]:
        """Yield the title, and a line for each row."""
        yield f"  {self.title}"
        yield from _aligned(self.rows)


def lines(found: BenchDocument) -> Iterator[str]:
    """Yield the lines of a bench."""
    for table in tables(found):
        yield from table.lines()
    for sentence in sentences(found):
        yield f"  {sentence}"


def tables(found: BenchDocument) -> Iterator[BenchTable]:
    """Yield all tables of a bench that have rows."""
    of_lock = [each for each in found.series if each.operation == "acquire"]
    of_storage = [each for each in found.series if each.operation == "write" and not each.lock]
    locked = [each for each in found.series if each.lock]
    if found.requirements:
        rows = [
            ("requirement", "bound", "answer", "measured (95 %)", "why"),
            *map(_requirement, found.requirements),
        ]
        yield BenchTable(title="requirements", rows=rows)
    if of_lock:
        title = f"lock {found.lock}: acquire, each followed by a release"
        yield BenchTable(title=title, rows=[_HEAD, *map(_row, of_lock)])
    if of_storage:
        title = f"storage {found.storage}: writes"
        yield BenchTable(title=title, rows=[_HEAD, *map(_row, of_storage)])
    yield from map(_overheads, (each for each in found.rounds if each.rounds))
    if locked:
        title = f"lock {found.lock} and storage {found.storage}: writes under a lock"
        yield BenchTable(title=title, rows=[_HEAD, *map(_row, locked)])
    if found.hand_overs:
        title = f"lock {found.lock}: until a client that waits for it is granted it"
        heads = ("after its holder", "median", "least", "most")
        yield BenchTable(title=title, rows=[heads, *map(_hand_over, found.hand_overs)])
    if found.availability:
        rows = [_WHEN, *map(_availability, found.availability)]
        yield BenchTable(title="availability under the target's faults on servers", rows=rows)


_WHEN = (
    "fault",
    "of",
    "seen in force for",
    "writes a second before",
    "during",
    "after",
    "no write for",
    "a new holder wrote after",
)


def _availability(each: AvailabilityDocument) -> tuple[str, ...]:
    rates = ("-" if rate is None else f"{rate:,.1f}" for rate in (each.before, each.during, each.after))
    first = "never" if each.first_write is None else ms(each.first_write)
    return (each.fault, each.target, ms(each.lasted), *rates, ms(each.without_writes), first)


def sentences(found: BenchDocument) -> Iterator[str]:
    """Yield what no table says."""
    if found.stale_holds:
        most = max(each.believed for each in found.stale_holds)
        writes = max(each.writes for each in found.stale_holds)
        yield (
            "a holder that kept its lock, and was stopped until another client had it, then believed in it"
            f" for up to {ms(most)}, and sent up to {count(writes, 'write')}"
        )
    yield from found.remarks
    if found.interrupted:
        yield "interrupted: some loads were measured fewer than three times, or not at all"
    machine = found.machine
    yield (
        f"machine: {count(machine.cpus, 'core')}, governor {machine.governor or 'not shown'}, load"
        f" {machine.load:g} before the start; its speed changed by {machine.spread:.0%}"
        f"{f': {NOISY}' if machine.is_noisy else ''}"
    )


def _row(series: SeriesDocument) -> tuple[str, ...]:
    latencies = series.own
    remarks = [NOISY] * series.is_noisy
    if series.lock:
        remarks.append(_lock_requests(series))
    if series.native:
        limited = "limited by the driver: " if series.is_limited_by_driver else ""
        remarks.append(f"{limited}{series.native.tool} {series.native.rate:,.0f} a second")
    for f, found in series.latencies.items():
        if found.lost and (found is latencies or f == "acquire"):
            which = "" if found is latencies else f"{f}s "
            remarks.append(f"{found.lost:,} {which}without success ({found.error})")
    if latencies.unsent:
        remarks.append(f"{latencies.unsent:,} were never sent")
    return (
        load_of(series),
        f"{series.rate.value or 0:,.0f}",
        ms(latencies.p50),
        ms(latencies.p90),
        ms(latencies.p99.value),
        ms(latencies.p999) if latencies.p999 is not None else "-",
        ms(latencies.max),
        "; ".join(remarks),
    )


def load_of(series: SeriesDocument) -> str:
    """Describe a load: "conditional-update, 8 clients at 1 resource"."""
    clients = count(series.clients, "client")
    own = series.clients == series.resources
    at = (
        (", each its own resource" if series.clients > 1 else "")
        if own
        else f" at {count(series.resources, 'resource')}"
    )
    how = f"{series.fencing}, " if series.fencing else ""
    how = f"lock {series.lock}, " if series.lock else how
    return f"{how}{clients}{at}" + (f", {series.offered:,g} a second offered" if series.offered else "")


def _lock_requests(series: SeriesDocument) -> str:
    """Say how many requests of the lock service a write under a lock takes, and how many are renewals."""
    known, writes = series.latencies, max(1, series.own.count)
    counts = [known[f].count if f in known else 0 for f in ("acquire", "release", "renew")]
    asked = f"{few(sum(counts) / writes)} lock requests a write"
    if series.lock != "kept":
        return asked
    return f"{asked}, {few(counts[-1] / writes * (series.rate.value or 0))} renewals a second"


def few(number: float) -> str:
    """Show a number with two digits, or without decimals."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"  # noqa: PLR2004 - two digits


def ms(value: float | None) -> str:
    """Show a latency (ms) with three digits; one that was not reached: "never"."""
    if value is None or math.isinf(value):
        return "never"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 3)}f} ms"


def _overheads(rounds: RoundsDocument) -> BenchTable:
    clients = count(rounds.clients, "client")
    lost = f"; {count(rounds.lost, 'write')} without success ({rounds.error})" if rounds.lost else ""
    return BenchTable(
        title=f"the same write in each way, in turn on one connection: {clients}, "
        f"{rounds.rounds:,} rounds{lost}",
        rows=[
            (
                "write",
                "mean",
                "p50",
                "client computes",
                "adds on average",
                "95 %",
                "adds at the median",
                REMARKS,
            ),
            *(_way(rounds, each) for each in rounds.writings),
        ],
    )


def _way(rounds: RoundsDocument, writing: WritingDocument) -> tuple[str, ...]:
    added, at_median = writing.overhead, writing.median_overhead
    remarks = [NOISY] * writing.is_noisy
    if added is not None and (by_tool := overheads_by_tool(rounds, writing.fencing)):
        remarks.append(f"pgbench {by_tool}")
    return (
        way(writing.fencing, logged=writing.logged, raises_mark=writing.raises_mark),
        ms(writing.mean),
        ms(writing.p50),
        "-" if writing.processor is None else ms(writing.processor),
        signed(added.value) if added else "once a grant" if writing.raises_mark else "",
        between(added) if added else "",
        signed(at_median) if at_median is not None else "",
        "; ".join(remarks),
    )


_ENDED = {"release": "released it", "stop": "was stopped", "kill": "was killed"}


def _hand_over(each: HandOverDocument) -> tuple[str, ...]:
    return (_ENDED[each.after], ms(each.median), ms(min(each.samples)), ms(max(each.samples)))


def overheads_by_tool(rounds: RoundsDocument, fencing: str) -> str:
    """Show what a fence adds by the system's own tool, with the least and the most of the repetitions."""
    known = rounds.native_overheads(fencing) if fencing != "none" else []
    if not known:
        return ""
    mean = signed(sum(known) / len(known))
    return mean if len(known) == 1 else f"{mean} ({signed(min(known))} to {signed(max(known))})"


def way(fencing: str, *, logged: bool, raises_mark: bool) -> str:
    """Name a way to write."""
    if raises_mark:
        return "fence_on_acquire"
    return "none, with the log of a run" if fencing == "none" and logged else fencing


def signed(value: float | None) -> str:
    """Show a difference (ms)."""
    return "unknown" if value is None else f"{round(value, 3) + 0.0:+.3f} ms"  # no -0.000


def between(interval: IntervalDocument) -> str:
    """Show the bounds of a difference (ms)."""
    return f"{signed(interval.low)} to {signed(interval.high)}"


def _requirement(each: RequirementDocument) -> tuple[str, ...]:
    is_rate = each.unit != "ms"

    def shown(value: float | None) -> str:
        return f"{value or 0:,.0f}" if is_rate else ms(value)

    bound = f"{each.bound:,g} a second" if is_rate else ms(each.bound)
    if each.measured is None:
        return (each.name, bound, each.answer, "-", each.why)
    low, value, high = each.measured.low, each.measured.value, each.measured.high
    return (each.name, bound, each.answer, f"{shown(value)} ({shown(low)} to {shown(high)})", each.why)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lay rows out in columns: the first to the left, the others to the right but the last."""
    columns = max(map(len, rows))
    padded = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(len(row[column]) for row in padded) for column in range(columns)]
    for row in padded:
        cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:-1], widths[1:-1]), row[-1]]
        yield f"    {'  '.join(cells)}".rstrip()
