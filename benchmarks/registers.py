"""Registers of every shape, judged by Fencepost and by Porcupine: the same histories."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, get_args

from benchmarks import peer
from benchmarks.generated import Policy, Shape
from benchmarks.measuring import in_own_process, result
from benchmarks.results import Results

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CLIENTS = (5, 20, 100)
LOST = (0.0, 0.01, 0.05)
PEER_SECONDS = 30.0
PEER_MIB = 8192
TIRED = 2
"""After this many unfinished histories that are no harder, the peer is skipped."""

_SLOW, _SLOW_TIMES = 5.0, 3  # a history that takes the peer this many seconds is measured only this often

DECIDED = frozenset({"valid", "invalid"})


def shapes(largest: int) -> Iterator[Shape]:
    """Yield all shapes, the easier ones first."""
    sizes = [size for size in SIZES if size <= largest]
    for policy, wrong in itertools.product(get_args(Policy), (False, True)):
        for size, clients, lost in itertools.product(sizes, CLIENTS, LOST):
            yield Shape(operations=size, clients=clients, lost=lost, policy=policy, wrong=wrong)


def name_of(shape: Shape) -> str:
    """Return the name of a shape's row in the results."""
    kind = "wrong" if shape.wrong else "valid"
    return f"register {shape.policy} {shape.operations} {shape.clients} {shape.lost} {kind}"


def compare(
    results: Results, program: Path, *, largest: int, times: int, say: Callable[[str], None]
) -> list[str]:
    """Measure everything that is not in the results yet, and return the rows with a wrong verdict."""
    mistakes = []
    too_much: list[Shape] = []
    for shape in shapes(largest):
        name = name_of(shape)
        row = results.once(name, partial(_row, shape, program, too_much, times))
        if row["peer"]["verdict"] not in {*DECIDED, "not asked"}:
            too_much.append(shape)
        say(f"{name}: {_described(row['ours'])}; Porcupine: {_described(row['peer'])}")
        right = "invalid" if shape.wrong else "valid"
        verdicts = [row["ours"]["verdict"], *({row["peer"]["verdict"]} & DECIDED)]
        if any(verdict != right for verdict in verdicts):
            mistakes.append(f"{name}: {verdicts}")
    return mistakes


def _row(shape: Shape, program: Path, too_much: Iterable[Shape], times: int) -> dict[str, Any]:
    ask = sum(_is_no_harder(other, shape) for other in too_much) < TIRED
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history"
        ours = in_own_process(
            "register", shape=asdict(shape), times=times, peer_file=str(file) if ask else None
        )
        theirs = _asked(program, shape, file, times) if ask else {"verdict": "not asked"}
    return {"ours": ours, "peer": theirs}


def _asked(program: Path, shape: Shape, file: Path, times: int) -> dict[str, Any]:
    """Return the peer's result; a timeout needs no median."""
    model = "plain" if shape.policy == "plain" else f"fenced-{shape.policy}"

    def judge(files: list[Path]) -> list[peer.Result]:
        return peer.judge(program, model, files, seconds=PEER_SECONDS, mib=PEER_MIB)

    results = judge([file])
    if results[0].verdict in DECIDED:
        again = min(times, _SLOW_TIMES) if results[0].seconds > _SLOW else times
        results += judge([file] * (again - 1))
    found = result([each.seconds for each in results], 1024 * max(each.peak_mib for each in results))
    return found | {"verdict": results[0].verdict}


def _is_no_harder(one: Shape, other: Shape) -> bool:
    """Is `one` of the same kind as the other, and no larger in any respect?"""
    return (
        (one.policy, one.wrong) == (other.policy, other.wrong)
        and one.operations <= other.operations
        and one.clients <= other.clients
        and one.lost <= other.lost
    )


def _described(row: dict[str, Any]) -> str:
    if "seconds" not in row:
        return str(row["verdict"])
    return f"{row['verdict']} in {row['seconds']:.4f} s, {row['mebibytes']:.0f} MiB"
