"""A bench as lines of text: a row for each load, what each fence adds, and the requirements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.bench.document import (
    BenchDocument,
    IntervalDocument,
    RequirementDocument,
    RoundsDocument,
    SeriesDocument,
    WritingDocument,
)
from harness.report.sentences import count

NOISY = "too noisy here"
_HEAD = ("load", "a second", "p50", "p90", "p99", "p99.9", "max", "")


def lines(found: BenchDocument) -> Iterator[str]:
    """Yield the lines of a bench."""
    acquires = [each for each in found.series if each.operation == "acquire"]
    if acquires:
        yield f"  lock {found.lock}: acquire, each followed by a release"
        yield from _aligned([_HEAD, *map(_row, acquires)])
    writes = [each for each in found.series if each.operation == "write" and not each.lock]
    if writes:
        yield f"  storage {found.storage}: writes"
        yield from _aligned([_HEAD, *map(_row, writes)])
    yield from _overheads(found)
    locked = [each for each in found.series if each.lock]
    if locked:
        yield f"  lock {found.lock} and storage {found.storage}: writes under a lock"
        yield from _aligned([_HEAD, *map(_row, locked)])
    yield from _holds(found)
    if found.requirements:
        yield "  requirements"
        yield from _aligned([_requirement(each) for each in found.requirements])
    machine = found.machine
    governor = machine.governor or "not shown"
    yield (
        f"  machine: {count(machine.cpus, 'core')}, governor {governor}, load {machine.load:g} before the"
        f" start; its speed changed by {machine.spread:.0%}{f': {NOISY}' if machine.is_noisy else ''}"
    )


def _row(series: SeriesDocument) -> tuple[str, ...]:
    latencies = series.latencies[series.operation]
    lost = latencies.failed + latencies.unknown
    remarks = [NOISY] * series.is_noisy
    if series.lock:
        remarks.append(f"{requests_per_write(series):.2g} requests of the lock a write")
    if series.native:
        limited = "limited by the driver: " if series.is_limited_by_driver else ""
        remarks.append(f"{limited}{series.native.tool} {series.native.rate:,.0f} a second")
    if lost:
        remarks.append(f"{lost:,} without success ({latencies.error})")
    if latencies.unsent:
        remarks.append(f"{latencies.unsent:,} still waiting at the end")
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
    at = (", each its own resource" if series.clients > 1 else "") if own else f" at {series.resources}"
    how = f"{series.fencing}, " if series.fencing else ""
    how = f"lock {series.lock}, " if series.lock else how
    return f"{how}{clients}{at}" + (f", {series.offered:g} a second offered" if series.offered else "")


def requests_per_write(series: SeriesDocument) -> float:
    """Return how many requests of the lock service a write under a lock takes."""
    known = series.latencies
    asked = sum(known[f].count for f in ("acquire", "release", "renew") if f in known)
    return asked / max(1, known["write"].count)


def ms(value: float | None) -> str:
    """Show a latency (ms) with three digits; one that was not reached: "never"."""
    if value is None or math.isinf(value):
        return "never"
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(digits, 3)}f} ms"


def _overheads(found: BenchDocument) -> Iterator[str]:
    for each in found.rounds:
        if not each.rounds:
            continue
        clients = count(each.clients, "client")
        yield f"  the same write in each way, in turn on one connection: {clients}, {each.rounds:,} rounds"
        rows: list[tuple[str, ...]] = [
            ("write", "mean", "p50", "adds on average", "95 %", "adds at the median")
        ]
        for writing in each.writings:
            added = writing.overhead
            rows.append(
                (
                    way(writing.fencing, logged=writing.logged, raises_mark=writing.raises_mark),
                    ms(writing.mean),
                    ms(writing.p50),
                    signed(added.value) if added else "once a grant" if writing.raises_mark else "",
                    between(added) if added else "",
                    signed(writing.median_overhead) if writing.median_overhead is not None else "",
                    _native(each, writing),
                )
            )
        yield from _aligned(rows)


_ENDS = {
    "release": "after a release",
    "stop": "after its holder was stopped",
    "kill": "after its holder was killed",
}


def _holds(found: BenchDocument) -> Iterator[str]:
    if found.hand_overs:
        yield f"  lock {found.lock}: until a client that waits for it is granted it"
        yield from _aligned(
            [
                (
                    _ENDS[each.after],
                    f"median {ms(each.median)}",
                    f"{ms(min(each.samples))} to",
                    ms(max(each.samples)),
                )
                for each in found.hand_overs
            ]
        )
    if found.stale_holds:
        most = max(found.stale_holds, key=lambda each: each.believed)
        writes = max(each.writes for each in found.stale_holds)
        yield (
            f"  a holder that kept its lock, and was stopped until another client had it, then believed in it"
            f" for up to {ms(most.believed)}, and sent up to {count(writes, 'write')}"
        )


def _native(rounds: RoundsDocument, writing: WritingDocument) -> str:
    """Show what the fence adds by the system's own tool."""
    known = rounds.native
    if writing.overhead is None or writing.fencing not in known or writing.fencing == "none":
        return ""
    return f"pgbench {signed(known[writing.fencing] - known['none'])}"


def way(fencing: str, *, logged: bool, raises_mark: bool) -> str:
    """Name a way to write."""
    if raises_mark:
        return "fence_on_acquire"
    return "none, with the log of a run" if fencing == "none" and logged else fencing


def signed(value: float | None) -> str:
    """Show a difference (ms)."""
    return "unknown" if value is None else f"{value:+.3f} ms"


def between(interval: IntervalDocument) -> str:
    """Show the bounds of a difference (ms)."""
    return f"{signed(interval.low)} to {signed(interval.high)}"


def _requirement(each: RequirementDocument) -> tuple[str, ...]:
    is_rate = each.name.endswith("_rate")

    def shown(value: float | None) -> str:
        if value is None:
            return "no bound"
        return f"{value:,.0f}" if is_rate else ms(value)

    bound = f"{each.bound:g} a second" if is_rate else ms(each.bound)
    if each.measured is None:
        return (each.name, bound, each.answer, each.why)
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
