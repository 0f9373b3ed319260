"""The page of a bench: one HTML file with its tables and curves, which needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from harness.bench.document import BenchDocument, SeriesDocument, answer_of
from harness.bench.intervals import Decision
from harness.bench.tables import load_of, sentences, tables
from harness.report.chart_data import script_safe
from harness.report.run import PACKAGE as REPORT
from harness.report.run import STYLE, asset, digest, environment
from harness.report.sentences import capitalized, count

BENCH_PAGE = "bench.html"
_PACKAGE = "harness.bench"
_STYLES = ("uplot/uPlot.min.css", STYLE)
_SCRIPTS = ("uplot/uPlot.iife.min.js", "format.js")
_TONES = {Decision.MET: "good", Decision.MISSED: "bad", Decision.UNDECIDED: "unsure"}


def render(found: BenchDocument) -> str:
    """Return the HTML of a bench."""
    style = "\n".join([*(asset(REPORT, name) for name in _STYLES), asset(_PACKAGE, "bench.css")])
    script = "\n".join([*(asset(REPORT, name) for name in _SCRIPTS), asset(_PACKAGE, "bench.js")])
    return (
        environment(_PACKAGE, REPORT)
        .get_template("bench.html.j2")
        .render(
            page=_page(found),
            style=style,
            script=script,
            style_hash=digest(style),
            script_hash=digest(script),
        )
    )


def _page(found: BenchDocument) -> SimpleNamespace:
    answer = answer_of(found)
    servers = ", ".join(f"{name} {version}".rstrip() for name, version in found.versions.items())
    return SimpleNamespace(
        target=found.target,
        tone=_TONES[answer] if found.requirements else "neutral",
        headline=_headline(found, answer),
        facts=tuple(
            filter(
                None,
                (
                    found.began,
                    f"{found.engine} engine",
                    servers,
                    f"each load three times {found.seconds:g} s",
                    "interrupted" if found.interrupted else "",
                ),
            )
        ),
        tables=tuple(tables(found)),
        sentences=tuple(f"{capitalized(each.removesuffix('.'))}." for each in sentences(found)),
        charts=tuple(chart.title for chart in _charts(found)),
        data=script_safe([chart.data for chart in _charts(found)]),
    )


def _headline(found: BenchDocument, answer: Decision) -> str:
    if not found.requirements:
        return "Measured, without requirements"
    several = count(len(found.requirements), "requirement")
    return {
        Decision.MET: f"{capitalized(several)} met",
        Decision.MISSED: "A requirement was missed",
        Decision.UNDECIDED: "A requirement is undecided",
    }[answer]


def _charts(found: BenchDocument) -> Iterator[SimpleNamespace]:
    """Yield each chart that has points: latency curves, and throughput against latency."""
    locks = [each for each in found.series if each.operation == "acquire"]
    closed = [each for each in locks if each.offered is None]
    writes = [each for each in found.series if each.operation == "write" and not each.lock]
    for title, series in (
        (f"Latency of acquire, {found.lock}", closed),
        (f"Latency of writes, {found.storage}", writes),
    ):
        if any(each.own.curve for each in series):
            yield SimpleNamespace(title=title, data={"kind": "percentiles", "lines": list(_curves(series))})
    if lines := list(_throughput(locks)):
        yield SimpleNamespace(
            title=f"Throughput against latency, {found.lock}",
            data={"kind": "throughput", "lines": lines},
        )


def _curves(series: Iterable[SeriesDocument]) -> Iterator[dict[str, Any]]:
    for each in series:
        yield {"name": load_of(each), "points": each.own.curve, "joined": True}


def _throughput(series: Iterable[SeriesDocument]) -> Iterator[dict[str, Any]]:
    """Yield p50 and p99 of the loads without contention, by their rate; open loops apart from closed ones."""
    known = [each for each in series if each.clients == each.resources]
    for loop, some in (
        ("closed loop", [each for each in known if each.offered is None]),
        ("offered rate", [each for each in known if each.offered is not None]),
    ):
        for name in ("p50", "p99"):
            points = sorted(
                (each.rate.value or 0, value)
                for each in some
                if (value := _percentile(each, name)) is not None
            )
            if points:
                yield {"name": f"{name}, {loop}", "points": points, "joined": loop == "offered rate"}


def _percentile(series: SeriesDocument, name: str) -> float | None:
    latencies = series.own
    return latencies.p50 if name == "p50" else latencies.p99.value
