"""The jobs that are measured in separate processes.

    python -m benchmarks.jobs register '{"shape": {"operations": 1000}, "times": 5}'

Prints a JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import fencepost
from benchmarks import peer
from benchmarks.generated import Shape, generate, generate_with_log, lines
from benchmarks.keys import keys
from benchmarks.lock_runs import run_lines
from benchmarks.measuring import in_own_process, measured, rechecked
from checkers import formats
from checkers.models.register import judge_register

_WRONG = 10  # one wrong history in this many short ones


def register(shape: dict[str, Any], times: int, peer_file: str | None = None) -> dict[str, Any]:
    """Judge one generated history several times; also write it to a file for the peer."""
    history = generate(Shape(**shape))
    if peer_file is not None:
        with Path(peer_file).open("w", encoding="utf-8") as file:
            file.writelines(peer.fenced_lines(history))
        history = generate(Shape(**shape))  # the other one has materialized its operations
    verdict = fencepost.judge(history)
    found = {"verdict": verdict.to_document()["verdict"], "findings": len(verdict.findings)}
    return measured(times, lambda: fencepost.judge(history)) | found


def many(histories: int, times: int) -> dict[str, Any]:
    """Parse and judge many short histories."""
    shapes = [
        Shape(operations=20, clients=5, lost=0.05, seed=seed, wrong=seed % _WRONG == 0)
        for seed in range(histories)
    ]
    texts = [list(lines(generate(shape))) for shape in shapes]
    wrong = sum(bool(fencepost.judge(fencepost.parse(text)).findings) for text in texts)

    def judge_all() -> None:
        for text in texts:
            fencepost.judge(fencepost.parse(text))

    return measured(times, judge_all) | {"findings": wrong}


def register_with_log(shape: dict[str, Any], times: int) -> dict[str, Any]:
    """Judge one generated history with its commit log, both already in memory."""
    history, log = generate_with_log(Shape(**shape))
    with tempfile.TemporaryDirectory() as folder:
        commits = fencepost.read_commits(_written(Path(folder) / "commits.jsonl", log))
    verdict = fencepost.judge(history, commits)
    found = {"verdict": verdict.to_document()["verdict"], "findings": len(verdict.findings)}
    return measured(times, lambda: fencepost.judge(history, commits)) | found


def lock_run(operations: int, times: int, *, log: bool = False) -> dict[str, Any]:
    """Judge a run of many grants, with or without its commit log."""
    with tempfile.TemporaryDirectory() as folder:
        path = _lock_run_in(Path(folder), operations, log=log)
        commits = fencepost.read_commits(path.with_name("commits.jsonl")) if log else None

        def judge() -> None:
            fencepost.judge(fencepost.read(path), commits)

        history = fencepost.read(path)
        verdict = fencepost.judge(history, commits).to_document()
        found = measured(times, judge)
        reading = measured(times, lambda: fencepost.read(path))
    found["seconds"] -= reading["seconds"]
    return found | {"verdict": verdict["verdict"], "operations": len(history.operations)}


def from_disk(shape: dict[str, Any], times: int) -> dict[str, Any]:
    """`fencepost recheck` of a history on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        # In a separate process: a child inherits the peak memory of its parent.
        in_own_process("store", path=str(path), shape=shape)
        return rechecked(times, path)


def from_folder(operations: int, times: int, *, log: bool = False) -> dict[str, Any]:
    """`fencepost recheck` of a run's folder, including the report."""
    with tempfile.TemporaryDirectory() as folder:
        _lock_run_in(Path(folder), operations, log=log)
        return rechecked(times, Path(folder))


def reading(file: str, operations: int, times: int) -> dict[str, Any]:
    """Read a file of a run's folder; `processor` is the CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        in_own_process("store_run", folder=folder, operations=operations)
        read = fencepost.read_commits if file == "commits.jsonl" else fencepost.read
        began = sum(os.times()[:4])
        found = measured(times, lambda: read(Path(folder) / file))
        return found | {"processor": (sum(os.times()[:4]) - began) / times}


def parsing(histories: int, times: int) -> dict[str, Any]:
    """Parse many short histories."""
    texts = [list(lines(generate(Shape(operations=20, clients=5, seed=seed)))) for seed in range(histories)]
    began = time.process_time()
    found = measured(times, lambda: [fencepost.parse(text) for text in texts])
    return found | {"processor": (time.process_time() - began) / times}


def store_run(folder: str, operations: int) -> dict[str, Any]:
    """Write a run of many grants and its commit log."""
    _lock_run_in(Path(folder), operations, log=True)
    return {}


def store(path: str, shape: dict[str, Any]) -> dict[str, Any]:
    """Write a generated history."""
    with Path(path).open("w", encoding="utf-8") as file:
        file.writelines(lines(generate(Shape(**shape))))
    return {}


def etcd(logs: Sequence[str], times: int) -> dict[str, Any]:
    """Judge etcd logs, one after another, without reading them."""
    histories = [formats.operations(formats.read(Path(log)), "cas-register").operations for log in logs]
    verdicts = [judge_register(history).validity.name.lower() for history in histories]
    found = measured(times, lambda: [judge_register(history) for history in histories])
    return found | {"verdicts": verdicts}


def _lock_run_in(folder: Path, operations: int, *, log: bool = False) -> Path:
    history, commits = run_lines(operations)
    if log:
        _written(folder / "commits.jsonl", commits)
    return _written(folder / "history.jsonl", history)


def _written(path: Path, content: Iterable[bytes]) -> Path:
    with path.open("wb") as file:
        file.writelines(content)
    return path


_JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "etcd": etcd,
    "from_disk": from_disk,
    "from_folder": from_folder,
    "keys": keys,
    "lock_run": lock_run,
    "many": many,
    "parsing": parsing,
    "reading": reading,
    "register": register,
    "register_with_log": register_with_log,
    "store": store,
    "store_run": store_run,
}


if __name__ == "__main__":
    name, arguments = sys.argv[1:]
    print(json.dumps(_JOBS[name](**json.loads(arguments))))
