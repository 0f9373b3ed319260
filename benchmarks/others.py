"""Other measurements: many resources, files, short histories, lock services, other tools' logs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, get_args

from benchmarks import peer
from benchmarks.generated import Policy, Shape
from benchmarks.measuring import in_own_process, result
from benchmarks.results import Results

_GROWTH = [round(10 ** (power / 2)) for power in range(6, 13)]
_ETCD_LOGS = 102

Row = tuple[str, str, Callable[[], dict[str, Any]]]
"""The name in the results, the text in the table, and the measurement."""


def rows(operations: int, times: int) -> list[Row]:
    """Return the rows of the table."""
    shape = asdict(Shape(operations=operations))
    many = asdict(Shape(operations=operations, resources=1000))
    return [
        (
            "resources",
            f"judge {operations:,} operations over 1,000 resources",
            lambda: in_own_process("register", shape=many, times=times),
        ),
        (
            "lock run",
            f"judge a run of {operations:,} operations: acquire, write, read, renew, release",
            lambda: in_own_process("lock_run", operations=operations, times=times),
        ),
        (
            "log",
            f"judge {operations:,} operations with their commit log",
            lambda: in_own_process("register_with_log", shape=shape, times=times),
        ),
        (
            "log resources",
            f"judge {operations:,} operations over 1,000 resources with their commit log",
            lambda: in_own_process("register_with_log", shape=many, times=times),
        ),
        (
            "lock run log",
            f"judge the run of {operations:,} operations with its commit log",
            lambda: in_own_process("lock_run", operations=operations, times=times, log=True),
        ),
        (
            "lines",
            f"`fencepost recheck` of {operations:,} operations, from JSON lines",
            lambda: in_own_process("from_disk", shape=shape, times=times),
        ),
        (
            "folder",
            f"`fencepost recheck` of a run's folder of {operations:,} operations, report included",
            lambda: in_own_process("from_folder", operations=operations, times=times),
        ),
        (
            "folder log",
            "the same with a commit log",
            lambda: in_own_process("from_folder", operations=operations, times=times, log=True),
        ),
        (
            "short",
            "20,000 histories of 20 operations, parsed and judged in one process",
            lambda: in_own_process("many", histories=20_000, times=min(times, 3)),
        ),
    ]


def growth(results: Results, times: int, say: Callable[[str], None]) -> None:
    """Measure time against the number of operations."""
    for policy in get_args(Policy):
        for size in _GROWTH:
            shape = asdict(Shape(operations=size, policy=policy))
            row = results.once(
                f"growth {policy} {size}",
                partial(in_own_process, "register", shape=shape, times=times),
            )
            say(f"growth {policy} {size:,}: {row['seconds']:.4f} s")


def points(results: Results, policy: str) -> tuple[tuple[float, float], ...]:
    """Return the measured (operations, seconds) of one kind of register."""
    return tuple((size, results[f"growth {policy} {size}"]["seconds"]) for size in _GROWTH)


def etcd_logs(program: Path, times: int) -> dict[str, Any]:
    """Judge Jepsen's etcd logs, from Porcupine's own tests, with both checkers, without reading them."""
    folder = peer.module()
    expected = re.findall(
        r"checkJepsen\(t, (\d+), (true|false)\)",
        (folder / "porcupine_test.go").read_text(encoding="utf-8"),
    )
    logs = [folder / f"test_data/jepsen/etcd_{int(number):03d}.log" for number, _ in expected]
    right = ["valid" if valid == "true" else "invalid" for _, valid in expected]
    ours = in_own_process("etcd", logs=[str(log) for log in logs], times=times)
    rounds = [peer.judge(program, "cas-register", logs, seconds=30, mib=8192) for _ in range(times)]
    theirs = result(
        [sum(log.seconds for log in each) for each in rounds],
        1024 * max(log.peak_mib for each in rounds for log in each),
    )
    verdicts = [log.verdict for log in rounds[0]]
    return {
        "ours": ours,
        "peer": theirs,
        "wrong": sum(said != known for said, known in zip(ours.pop("verdicts"), right, strict=True)),
        "peer_wrong": sum(said != known for said, known in zip(verdicts, right, strict=True)),
        "logs": len(logs),
        "operations": sum(log.operations for log in rounds[0]),
    }


def mistakes(row: dict[str, Any]) -> list[str]:
    """Return the wrong verdicts on the etcd logs."""
    if row["logs"] == _ETCD_LOGS and not row["wrong"] and not row["peer_wrong"]:
        return []
    return [f"etcd logs: {row}"]
