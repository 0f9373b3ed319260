"""Shards from other machines, and the file with the results of all nights."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

Files = Mapping[str, bytes]
_RUN = "runs/etcd-postgres/20261122T030000-abcdef"
_MOMENT = "2026-11-22T03:00:00+00:00"
_JOB = {"cell": "etcd-postgres", "repeat": 1, "seed": 7, "expected": 30, "reproduction": 0}
_PLAN = {
    "schema": 1,
    "campaign": "nightly",
    "started": _MOMENT,
    "engine": "local",
    "fencepost": "0.1.0",
    "git_commit": "0123456789abcdef",
    "tested_commit": "fedcba9876543210",
    "shard": "1/2",
    "canary": "",
    "cells": [
        {"name": "etcd-postgres", "lock": "etcd", "storage": "postgres:none", "faults": "pause"}
        | {"duration": 20, "source": 'name = "etcd-postgres"\n'}
    ],
    "jobs": [_JOB],
}
_SHAPE = "2-0123456789ab"
_ENDED = (_MOMENT, 20.0, "failed", "invalid", _SHAPE, None, b"x", None, '{"stale-write": 1}')
_WORDS = '{"target": "/n/target.toml", "seed": 7, "options": ["--engine", "local"], "plan": "0123456789ab"}'
_ROWS = {
    "nights": (1, "nightly", "/n", _MOMENT, "0.1.0", None, ""),
    "runs": (1, 1, "a", 1, 0, "7", *_ENDED),
    "seeds": (_SHAPE, "a", "7", 20.0, "fencepost run", 'name = "a"', _MOMENT, _MOMENT, 1, 0, _WORDS),
}


def of_run(run: Files) -> Files:
    """Return the files of a shard with one run."""
    header, _, events = run["history.jsonl"].partition(b"\n")
    with contextlib.suppress(ValueError):
        header = json.dumps(json.loads(header) | {"target": "etcd-postgres", "seed": 7}).encode()
    verdict = json.loads(run["verdict.json"]) if "verdict.json" in run else None
    result = {"job": _JOB, "exit_code": 0, "started": _MOMENT, "seconds": 20.0, "folder": _RUN}
    return {
        "plan.json": json.dumps(_PLAN).encode(),
        "results.jsonl": json.dumps(result | {"verdict": verdict, "message": ""}).encode() + b"\n",
        "logs/etcd-postgres-1.log": b"etcd-1 is healthy\n",
        f"{_RUN}/history.jsonl": header + b"\n" + events,
        **{f"{_RUN}/{name}": content for name, content in run.items() if name != "history.jsonl"},
    }


def join(_way: int) -> int:
    """Join a shard as `campaign merge` does, judging it in this process."""
    from harness.campaign import merge, outputs, rejudging
    from harness.core.errors import FencepostError

    vars(merge)["rejudged"] = lambda folders: map(rejudging.judge, folders)
    with contextlib.suppress(FencepostError):
        outputs.write(merge.merge([Path.cwd()], Path("joined")), None, allow_unknown=False)
    return 0


@cache
def results() -> tuple[Files, ...]:
    """Return a file with the results of one run."""
    from harness.campaign.results_schema import migrate

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "nights.db")
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
            migrate(database, file)
            for table, row in _ROWS.items():
                values = ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {table} VALUES ({values})", row)  # noqa: S608 (our own names)
            database.execute("PRAGMA journal_mode = DELETE")
        return ({"nights.db": file.read_bytes()},)


def read_results(_way: int) -> int:
    """Read everything in the file."""
    from harness.campaign.recheck_history import recheck
    from harness.campaign.results import Results
    from harness.core.errors import FencepostError

    with contextlib.suppress(FencepostError):
        known = Results(Path("nights.db"))
        for read in (known.seeds, lambda: list(map(str, recheck(known)))):
            read()
        known.past(before="2027")
        known.recent("nightly", before="2027", nights=30)
    return 0
