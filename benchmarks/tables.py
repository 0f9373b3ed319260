"""The results as Markdown: the figures of docs/benchmarks.md, and every table in benchmarks/results."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from benchmarks import others
from benchmarks.generated import Policy, Shape
from benchmarks.plot import Series, plot, slope
from benchmarks.registers import CLIENTS, DECIDED, LOST, PEER_SECONDS, SIZES, name_of
from benchmarks.results import Results

AIM = 20  # times faster than the peer
FEW = (5, 20)  # clients in the table of the page
IN_SECONDS = 0.1  # s; shorter times are written in ms
_SIGNS = {"unknown": f"> {PEER_SECONDS:.0f} s", "out-of-memory": "> 8 GiB", "not asked": "–"}


def put_into(page: Path, lines: Sequence[str]) -> None:
    """Replace the text between these tables' markers in a page."""
    begin, end = "<!-- checkers: begin -->", "<!-- checkers: end -->"
    text = page.read_text(encoding="utf-8")
    new = "\n".join((begin, *lines, end))
    replaced, count = re.subn(f"{begin}.*?{end}", lambda _: new, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{page} has no place between {begin} and {end}")
    page.write_text(replaced, encoding="utf-8")


def figures(results: Results, operations: int) -> Iterator[str]:
    """Yield what the page shows: one small table of registers, and the comparisons of both."""
    yield from _machine(results)
    yield from _strict(results, operations)
    yield ""
    yield from _summary(results, operations)
    yield ""
    yield from _etcd(results["etcd"])
    yield ""
    yield from _growth(results)
    yield ""
    yield from _spread(results["keys"])


def details(results: Results, operations: int, times: int) -> Iterator[str]:
    """Yield the tables of all registers, and of whole runs."""
    yield from _machine(results)
    for policy in get_args(Policy):
        yield from registers(results, policy, operations)
        yield ""
    yield from _summary(results, operations)
    yield ""
    yield from _others(results, operations, times)


def _machine(results: Results) -> Iterator[str]:
    where = results["machine"]
    yield (
        f"{where['cores']} cores, {where['gibibytes']} GiB, Linux {where['kernel']},"
        f" Python {where['python']}, numpy {where['numpy']}; load at the start: {where['load']}."
    )
    yield ""


def _strict(results: Results, largest: int) -> Iterator[str]:
    """Yield the times of a few strict registers without a lost answer, valid and wrong."""
    yield "| operations | clients | valid: Fencepost | Porcupine | one wrong read: Fencepost | Porcupine |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for size, clients in itertools.product((size for size in SIZES if size <= largest), FEW):
        pair = _pair(results, Shape(operations=size, clients=clients, lost=0.0, policy="strict", wrong=False))
        cells = [_time(row[side]) for row in pair for side in ("ours", "peer")]
        yield f"| {size:,} | {clients} | {' | '.join(cells)} |"


def _pair(results: Results, valid: Shape) -> list[dict[str, Any]]:
    """Return the measurements of a valid history, and of the same with a wrong read."""
    return [results[name_of(shape)] for shape in (valid, replace(valid, wrong=True))]


def registers(results: Results, policy: Policy, largest: int) -> Iterator[str]:
    """Yield the table of one kind of register: Fencepost, Porcupine and their ratio, valid and wrong."""
    yield (
        f"| {policy} | clients | answers lost | valid: Fencepost | Porcupine | times faster"
        " | one wrong read: Fencepost | Porcupine | times faster | memory |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    sizes = [size for size in SIZES if size <= largest]
    for size, clients, lost in itertools.product(sizes, CLIENTS, LOST):
        pair = _pair(results, Shape(operations=size, clients=clients, lost=lost, policy=policy, wrong=False))
        cells = [cell for row in pair for cell in (_time(row["ours"]), _time(row["peer"]), _ratio(row))]
        yield f"| {size:,} | {clients} | {lost:.0%} | {' | '.join(cells)} | {_memory(pair)} |"


def _summary(results: Results, largest: int) -> Iterator[str]:
    every = [
        (name, results[name])
        for policy, wrong, size, clients, lost in itertools.product(
            get_args(Policy), (False, True), SIZES, CLIENTS, LOST
        )
        if size <= largest
        for name in [name_of(Shape(operations=size, clients=clients, lost=lost, policy=policy, wrong=wrong))]
    ]
    finished = [row for _, row in every if row["peer"]["verdict"] in DECIDED]
    ratios = sorted(row["peer"]["seconds"] / row["ours"]["seconds"] for row in finished)
    slowest = max(row["ours"]["seconds"] for _, row in every)
    yield (
        f"{len(every)} histories: Fencepost decided all, the slowest in {slowest:.2f} s; Porcupine decided"
        f" {len(finished)}. Where it did, Fencepost was {ratios[0]:,.1f} to {ratios[-1]:,.0f} times faster,"
        f" with a median of {ratios[len(ratios) // 2]:,.0f}, and in {sum(r < AIM for r in ratios)}"
        f" of them less than {AIM} times."
    )


def _others(results: Results, operations: int, times: int) -> Iterator[str]:
    yield "| | time | memory |"
    yield "|---|---:|---:|"
    for name, words, _ in others.rows(operations, times):
        row = results[name]
        yield f"| {words} | {row['seconds']:.2f} s | {row['mebibytes']:.0f} MiB |"


def _etcd(row: dict[str, Any]) -> Iterator[str]:
    ours, theirs = row["ours"], row["peer"]
    yield f"| {row['logs']} etcd logs, {row['operations']:,} operations | verdicts right | time | memory |"
    yield "|---|---:|---:|---:|"
    for name, measured, wrong in (("Fencepost", ours, "wrong"), ("Porcupine", theirs, "peer_wrong")):
        right = row["logs"] - row[wrong]
        yield (
            f"| {name} | {right} of {row['logs']} | {1000 * measured['seconds']:.0f} ms"
            f" | {measured['mebibytes']:.0f} MiB |"
        )
    yield f"| times faster | | {theirs['seconds'] / ours['seconds']:.1f} | |"


def _growth(results: Results) -> Iterator[str]:
    yield "| register | slope on log-log | per operation, from 1 M |"
    yield "|---|---:|---:|"
    for each in _series(results):
        size, seconds = each.points[-1]
        yield f"| {each.name} | {slope(each):.2f} | {seconds / size * 1e9:.0f} ns |"


def _spread(row: dict[str, Any]) -> Iterator[str]:
    """Yield the comparison of one process with several for a search over many objects."""
    alone, spread = row["alone"], row["spread"]
    yield (
        f"The search over 200 registers whose values repeat, {row['operations']:,} operations:"
        f" {alone['seconds']:.2f} s in one process, {spread['seconds']:.2f} s in {row['processes']}"
        " processes, including starting them and sending the operations."
    )


def picture(results: Results) -> str:
    """Plot time against the number of operations, as SVG."""
    return plot(_series(results), "operations", "seconds")


def _series(results: Results) -> list[Series]:
    return [Series(name=policy, points=others.points(results, policy)) for policy in get_args(Policy)]


def _time(measured: dict[str, Any]) -> str:
    if measured["verdict"] not in DECIDED:
        return _SIGNS[measured["verdict"]]
    seconds = measured["seconds"]
    return f"{seconds:.2f} s" if seconds >= IN_SECONDS else f"{1000 * seconds:.1f} ms"


def _ratio(row: dict[str, Any]) -> str:
    ours, theirs = row["ours"], row["peer"]
    if theirs["verdict"] in DECIDED:
        return f"{theirs['seconds'] / ours['seconds']:,.0f}"
    if theirs["verdict"] == "unknown":
        return f"> {theirs['seconds'] / ours['seconds']:,.0f}"
    return ""


def _memory(pair: Sequence[dict[str, Any]]) -> str:
    """Format the memory of both in MiB: ours / the peer's."""
    ours = max(row["ours"]["mebibytes"] for row in pair)
    theirs = [row["peer"]["mebibytes"] for row in pair if "mebibytes" in row["peer"]]
    return f"{ours:.0f} / {max(theirs):,.0f} MiB" if theirs else f"{ours:.0f} MiB"
