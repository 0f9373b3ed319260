"""The section of docs/bench.md about every shipped system: tables, and answers to what people ask."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from harness.bench.document import BenchDocument, RoundsDocument, SeriesDocument, WritingDocument
from harness.bench.series import LOCK_KEY
from harness.bench.tables import between, ms, overheads_by_tool, signed
from harness.report.sentences import count

RATE, TAIL, OVERHEAD = 5000, 5, 1
"""What people ask for: acquisitions a second, their 99th percentile (ms), and what a fence adds (ms)."""
_NOISE = "¹"


def section(known: dict[str, BenchDocument]) -> Iterator[str]:
    """Yield the lines of the section."""
    some = next(iter(known.values()))
    first, last = min(each.began for each in known.values()), max(each.began for each in known.values())
    spreads = [each.machine.spread for each in known.values()]
    yield (
        f"`make bench-systems` measured all this with Fencepost's own images on one machine with"
        f" {some.machine.cpus} cores ({some.machine.kernel}, frequency governor"
        f" {some.machine.governor or 'not shown by the kernel'}), {_days(first[:10], last[:10])}: clients"
        f" and servers share the cores. Its speed changed by at most {max(spreads):.0%} during a target."
        f" {_NOISE} marks a figure that is too noisy here: its repetitions differ by more than 15 %,"
        " or for a fault the speed of the machine did."
    )
    yield ""
    yield from _questions(known)
    yield from _titled(
        "Locks",
        "Acquisitions a second, each followed by a release, and the 99th percentile of acquire; each client"
        " has a resource of its own. The tool sends the same requests from next to the server. Kahuna is not"
        " here: this machine cannot pull its image.",
        ("lock", "1 client", "8 clients", "64 clients", "64 for one lock", "the tool, 8 clients"),
        _locks(known),
    )
    yield from _titled(
        "Handing over",
        "A waiting client is granted the lock so long after its holder released it, was stopped, or was"
        " killed (medians, leases of 2 s).",
        ("lock", "released", "stopped", "killed"),
        _hand_overs(known),
    )
    yield from _titled(
        "Fences",
        "What a fence adds to a write of one client on the same connection, and writes a second. Beside what"
        " the tool finds is the least and the most of its three repetitions.",
        (
            "storage",
            "fencing",
            "adds on average (95 %)",
            "at the median",
            "of it the client computes",
            "by the tool",
            "8 clients apart",
            "8 at one row",
            "64 at one row",
        ),
        itertools.chain.from_iterable(
            _fences(found) for found in (*_storages(known), *_with_lock_key(known))
        ),
    )
    yield from _titled(
        "A lock for each write, or a lease that is kept",
        "Writes a second under a lock, by clients with a resource each.",
        (
            "lock",
            "storage",
            "1 client, lock for each write",
            "kept",
            "8 clients, lock for each write",
            "kept",
            "a stopped holder believed for up to",
        ),
        filter(None, map(_buffering, _storages(known))),
    )
    yield from _titled(
        "Availability",
        "Accepted writes a second of five clients, in three seconds before and after a fault on servers.",
        ("target", "fault", "before", "during", "after", "no write for", "a new holder wrote after"),
        _availability(known),
    )
    yield from _titled(
        "The machine",
        "What it was like during each target. The load is that of the minute before, in which the target"
        " before it was measured.",
        ("target", "began", "one repetition", "cores", "governor", "load before", "speed changed by"),
        _machine(known),
    )


def _days(first: str, last: str) -> str:
    return f"on {first}" if first == last else f"from {first} to {last}"


def _titled(title: str, said: str, heads: Sequence[str], rows: Iterable[str]) -> Iterator[str]:
    yield from (f"### {title}", "", said, "", _row(*heads), _row(*["---"] * len(heads)), *rows, "")


def _availability(known: dict[str, BenchDocument]) -> Iterator[str]:
    for target, found in known.items():
        for each in found.availability:
            yield _row(
                f"`{target}`",
                f"{each.fault} of {each.target}{_NOISE * found.machine.is_noisy}",
                *("–" if rate is None else f"{rate:,.0f}" for rate in (each.before, each.during, each.after)),
                ms(each.without_writes),
                ms(each.first_write) if each.first_write is not None else "–",
            )


def _machine(known: dict[str, BenchDocument]) -> Iterator[str]:
    for target, found in known.items():
        machine = found.machine
        yield _row(
            f"`{target}`",
            found.began.replace("T", " ").partition("+")[0],
            f"{found.seconds:g} s",
            f"{machine.cpus}",
            machine.governor or "not shown",
            f"{machine.load:g}",
            f"{machine.spread:.0%}{' (too noisy here)' if machine.is_noisy else ''}",
        )


def _questions(known: dict[str, BenchDocument]) -> Iterator[str]:
    """Answer what people ask, each in a paragraph."""
    postgres = known.get("redis-postgres")
    if postgres:
        plain_at_one, locked_at_one, plain, locked = (
            _rate(postgres.of(f"write/{fencing}/8 clients/{where}"))
            for where in ("1 resources", "own resources")
            for fencing in ("conditional-update", "select-for-update")
        )
        yield (
            "**Does `FOR UPDATE` serialize?** At one row, every fence does: in PostgreSQL two writes of a row"
            f" wait for one another anyway. Eight clients at one row write {plain_at_one} times a second with"
            f" a conditional update and {locked_at_one} with `FOR UPDATE`; apart, {plain} and {locked}. It"
            " costs more because it holds the row for two more round trips, and takes three more in all."
        )
        yield ""
        added = _writing(_one_client(postgres), "conditional-update")
        if added and added.overhead:
            answer = {"met": "Yes", "missed": "No"}.get(_requirement(postgres, "fence_overhead"), "Undecided")
            yield (
                f"**Does the conditional update cost less than {OVERHEAD:g} ms?** {answer}: it adds"
                f" {signed(added.overhead.value)} on average ({between(added.overhead)}), of a write that"
                f" takes {ms(added.mean)}."
            )
            yield ""
        each, kept = (
            postgres.of(f"write/conditional-update/8 clients/own resources/lock {lock}")
            for lock in ("for each write", "kept")
        )
        if each and kept and postgres.stale_holds:
            most = max(hold.believed for hold in postgres.stale_holds)
            writes = max(hold.writes for hold in postgres.stale_holds)
            yield (
                "**What does lease buffering buy, and risk?** With Redis and PostgreSQL, eight clients that"
                f" keep their locks write {_rate(kept)} times a second, and {_rate(each)} with a lock for"
                " each write. The price: a holder that was stopped until another client had its lock still"
                f" believed in it for up to {ms(most)} after it, and sent up to {count(writes, 'write')}."
                " How long it is stopped has no limit; only a fence refuses those writes."
            )
            yield ""
    yield _fast_enough(known)
    yield ""


def _fast_enough(known: dict[str, BenchDocument]) -> str:
    """Say which locks meet the rate and the percentile that the most ambitious designs promise."""
    answers = {
        found.lock: {each.answer: each.why for each in found.requirements if each.name.startswith("acquire")}
        for found in _first_of_each_lock(known)
    }
    met = [lock for lock, given in answers.items() if set(given) == {"met"}]
    missed = [lock for lock, given in answers.items() if "missed" in given]
    undecided = {lock: given["undecided"] for lock, given in answers.items() if not {lock} & {*met, *missed}}
    cores = next(iter(known.values())).machine.cpus
    return " ".join(
        filter(
            None,
            (
                f"**Who reaches {RATE:,} acquisitions a second under {TAIL:g} ms on {cores} cores?**",
                f"{', '.join(met)}." if met else "None for certain.",
                *(f"{lock} is undecided: {why}." for lock, why in undecided.items()),
                f"Not {', '.join(missed)}." if missed else "",
            ),
        )
    )


def _locks(known: dict[str, BenchDocument]) -> Iterator[str]:
    for found in _first_of_each_lock(known):
        series = [found.of(f"acquire/{clients} clients/own resources") for clients in (1, 8, 64)]
        native = series[1].native if series[1] else None
        yield _row(
            found.lock,
            *(map(_rate_and_tail, [*series, found.of("acquire/64 clients/1 resources")])),
            f"{native.tool} {native.rate:,.0f}" if native else "–",
        )


def _hand_overs(known: dict[str, BenchDocument]) -> Iterator[str]:
    for found in _first_of_each_lock(known):
        medians = {each.after: ms(each.median) for each in found.hand_overs}
        yield _row(found.lock, *(medians.get(after, "–") for after in ("release", "stop", "kill")))


def _first_of_each_lock(known: dict[str, BenchDocument]) -> Iterator[BenchDocument]:
    seen: set[str] = set()
    for found in known.values():
        if found.lock not in seen and not found.availability:
            seen.add(found.lock)
            yield found


def _storages(known: dict[str, BenchDocument]) -> Iterator[BenchDocument]:
    seen: set[str] = set()
    by_time = sorted(known.values(), key=lambda found: -found.seconds)
    for found in by_time:
        if found.storage not in seen and not found.availability and found.fencing != LOCK_KEY:
            seen.add(found.storage)
            yield found


def _with_lock_key(known: dict[str, BenchDocument]) -> Iterator[BenchDocument]:
    """Yield the writes that need their lock, without the other ones to the same kind of storage."""
    for found in known.values():
        if found.fencing == LOCK_KEY:
            yield structs.replace(found, series=[each for each in found.series if each.fencing == LOCK_KEY])


def _fences(found: BenchDocument) -> Iterator[str]:
    rounds = _one_client(found)
    log = _writing(rounds, "none")
    if log is not None and log.overhead is not None:
        yield _row(
            found.storage,
            "the log of a run",
            f"{signed(log.overhead.value)} ({between(log.overhead)})",
            signed(log.median_overhead),
            _computed(rounds, log),
            *["–"] * 4,
        )
    for fencing in dict.fromkeys(each.fencing for each in found.series if each.fencing):
        writing = None if fencing == "none" else _writing(rounds, fencing)
        added = writing.overhead if writing else None
        yield _row(
            found.storage,
            f"`{fencing}`",
            f"{signed(added.value)} ({between(added)})" if added else "–",
            signed(writing.median_overhead) if writing and writing.median_overhead is not None else "–",
            _computed(rounds, writing),
            (overheads_by_tool(rounds, fencing) if rounds else "") or "–",
            *(
                _rate(found.of(f"write/{fencing}/{load}"))
                for load in ("8 clients/own resources", "8 clients/1 resources", "64 clients/1 resources")
            ),
        )


def _computed(rounds: RoundsDocument | None, writing: WritingDocument | None) -> str:
    """Show how much of what a fence adds is the driver's own work."""
    plain = next((each for each in rounds.writings if each.overhead is None), None) if rounds else None
    if not (plain and plain.processor and writing and writing.processor):
        return "–"
    return signed(writing.processor - plain.processor)


def _buffering(found: BenchDocument) -> str:
    loads = [
        found.of(f"write/{found.fencing}/{clients} clients/own resources/lock {lock}")
        for clients in (1, 8)
        for lock in ("for each write", "kept")
    ]
    if not any(loads):
        return ""
    believed = ms(max(each.believed for each in found.stale_holds)) if found.stale_holds else "–"
    return _row(found.lock, found.storage, *map(_rate, loads), believed)


def _one_client(found: BenchDocument) -> RoundsDocument | None:
    return next((each for each in found.rounds if each.clients == 1), None)


def _writing(rounds: RoundsDocument | None, fencing: str) -> WritingDocument | None:
    known = rounds.writings if rounds else []
    found = (each for each in known if each.fencing == fencing and not each.raises_mark and each.overhead)
    return next(found, None)


def _requirement(found: BenchDocument, name: str) -> str:
    return next((each.answer for each in found.requirements if each.name == name), "")


def _rate(series: SeriesDocument | None) -> str:
    return f"{series.rate.value or 0:,.0f}{_NOISE * series.is_noisy}" if series else "–"


def _rate_and_tail(series: SeriesDocument | None) -> str:
    return f"{_rate(series)} · p99 {ms(series.own.p99.value)}" if series else "–"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
