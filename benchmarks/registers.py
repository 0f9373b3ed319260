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
"""So many histories that are nowhere harder have been too much for the peer: it is not asked again."""

_SLOW, _SLOW_TIMES = 5.0, 3  # what takes the peer so many seconds is measured but so often

DECIDED = frozenset({"valid", "invalid"})


def shapes(largest: int) -> Iterator[Shape]:
    """All of them; the easier ones come first."""
    sizes = [size for size in SIZES if size <= largest]
    for policy, wrong in itertools.product(get_args(Policy), (False, True)):
        for size, clients, lost in itertools.product(sizes, CLIENTS, LOST):
            yield Shape(operations=size, clients=clients, lost=lost, policy=policy, wrong=wrong)


def name_of(shape: Shape) -> str:
    """What a shape's row is called in the results."""
    kind = "wrong" if shape.wrong else "valid"
    return f"register {shape.policy} {shape.operations} {shape.clients} {shape.lost} {kind}"


def compare(
    results: Results, program: Path, *, largest: int, times: int, say: Callable[[str], None]
) -> list[str]:
    """Measure what is not measured yet; the rows in which a verdict is wrong."""
    mistakes = []
    too_much: list[Shape] = []
    for shape in shapes(largest):
        name = name_of(shape)
        row = results.once(name, partial(_row, shape, program, too_much, times))
        if row["peer"]["verdict"] not in {*DECIDED, "not asked"}:
            too_much.append(shape)
        say(f"{name}: {_told(row['ours'])}; Porcupine: {_told(row['peer'])}")
        right = "invalid" if shape.wrong else "valid"
        told = [row["ours"]["verdict"], *({row["peer"]["verdict"]} & DECIDED)]
        if any(verdict != right for verdict in told):
            mistakes.append(f"{name}: {told}")
    return mistakes


def _row(shape: Shape, program: Path, too_much: Iterable[Shape], times: int) -> dict[str, Any]:
    ask = sum(_is_no_harder(other, shape) for other in too_much) < TIRED
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history"
        ours = in_own_process(
            "register", shape=asdict(shape), times=times, peer_file=str(file) if ask else None
        )
        told = _asked(program, shape, file, times) if ask else {"verdict": "not asked"}
    return {"ours": ours, "peer": told}


def _asked(program: Path, shape: Shape, file: Path, times: int) -> dict[str, Any]:
    """What the peer says; a time that ran out needs no median."""
    model = "plain" if shape.policy == "plain" else f"fenced-{shape.policy}"

    def judge(files: list[Path]) -> list[peer.Told]:
        return peer.judge(program, model, files, seconds=PEER_SECONDS, mib=PEER_MIB)

    told = judge([file])
    if told[0].verdict in DECIDED:
        again = min(times, _SLOW_TIMES) if told[0].seconds > _SLOW else times
        told += judge([file] * (again - 1))
    found = result([each.seconds for each in told], 1024 * max(each.peak_mib for each in told))
    return found | {"verdict": told[0].verdict}


def _is_no_harder(one: Shape, other: Shape) -> bool:
    """Is `one` of the same kind as the other, and in nothing more than it?"""
    return (
        (one.policy, one.wrong) == (other.policy, other.wrong)
        and one.operations <= other.operations
        and one.clients <= other.clients
        and one.lost <= other.lost
    )


def _told(row: dict[str, Any]) -> str:
    if "seconds" not in row:
        return str(row["verdict"])
    return f"{row['verdict']} in {row['seconds']:.4f} s, {row['mebibytes']:.0f} MiB"
