"""Find the known bugs again, and keep the date and the commit that last found each.

Each affected system runs until it shows its bug, and each fixed one until a run decides; both at most
`TRIES` times. What was seen is kept in docs/known-bugs.json, from which `make schemas` makes a table of
docs/known-bugs.md. Only a bug that was found, with a fixed system that was valid, gets a new date:

    make known-bugs NAMES="etcd-stale-read-index"
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from checkers.vocabulary.anomalies import VIOLATIONS

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs/known-bugs.json"
TRIES = 5
HEAD = "| bug | last found | by commit | affected: what was found | fixed |\n|---|---|---|---|---|\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBug:
    """A bug: the target that shows it, and the one that must not."""

    affected: str
    fixed: str
    build: Sequence[str] = ()  # the commands that make the program, run in the folder of the affected target


def _installed(environment: str, packages: str) -> list[str]:
    """The commands that install packages in an environment of their own."""
    path = f".venv/{environment}"
    return [f"python3 -m venv {path}", f"{path}/bin/pip install -q {packages}"]


BUGS = {
    "etcd-lock-of-an-ended-lease": KnownBug(
        affected="targets/history/etcd-lock-of-an-ended-lease.toml",
        fixed="targets/history/etcd-lock-of-an-ended-lease-fixed.toml",
    ),
    "etcd-lease-revoked-by-old-leader": KnownBug(
        affected="targets/history/etcd-lease-revoked-by-old-leader.toml",
        fixed="targets/history/etcd-lease-revoked-by-old-leader-fixed.toml",
    ),
    "etcd-mutex-unlock-repeated": KnownBug(
        affected="examples/etcd-mutex/unlock-repeated.toml",
        fixed="examples/etcd-mutex/unlock-guarded.toml",
        build=["go build"],
    ),
    "client-go-foreign-release": KnownBug(
        affected="examples/kubernetes/foreign-release.toml",
        fixed="examples/kubernetes/foreign-release-guarded.toml",
        build=["go build"],
    ),
    "etcd-stale-read-index": KnownBug(
        affected="targets/history/etcd-stale-read-index.toml",
        fixed="targets/history/etcd-stale-read-index-fixed.toml",
    ),
    "versitygw-two-winners": KnownBug(
        affected="targets/history/versitygw-two-winners.toml",
        fixed="targets/history/versitygw-two-winners-fixed.toml",
    ),
    "nats-bucket-lost": KnownBug(
        affected="targets/history/nats-bucket-lost.toml",
        fixed="targets/history/nats-bucket-lost-fixed.toml",
    ),
    "slatedb-late-put": KnownBug(
        affected="examples/slatedb/late-put.toml",
        fixed="examples/slatedb/late-put-fixed.toml",
        build=[*_installed("0.13.0", "slatedb==0.13.0"), *_installed("0.14.1", "slatedb==0.14.1")],
    ),
    "galera-stale-reads": KnownBug(
        affected="targets/history/galera-stale-reads.toml",
        fixed="targets/history/galera-stale-reads-fixed.toml",
    ),
    "galera-lost-writes": KnownBug(
        affected="targets/history/galera-lost-writes.toml",
        fixed="targets/history/galera-lost-writes-fixed.toml",
    ),
    "redis-failover-loses-a-lock": KnownBug(
        affected="targets/zoo/replica-promoted-with-link-held.toml",
        fixed="targets/zoo/replica-promoted-with-link-held-twin.toml",
    ),
    "sentinel-two-primaries": KnownBug(
        affected="targets/redis-postgres-sentinel.toml",
        fixed="targets/redis-postgres-sentinel-wait.toml",
    ),
    "postgres-failover-loses-writes": KnownBug(
        affected="targets/etcd-postgres-failover-asynchronous.toml",
        fixed="targets/etcd-postgres-failover.toml",
    ),
    "pgbouncer-advisory-lock": KnownBug(
        affected="examples/locks/python/advisory-lock-pgbouncer.toml",
        fixed="examples/locks/python/advisory-lock.toml",
    ),
    "redis-py-lock-then-incr": KnownBug(
        affected="examples/locks/python/lock-then-incr.toml",
        fixed="examples/python-client/fenced.toml",
    ),
    "apscheduler-renews-no-lease": KnownBug(
        affected="examples/jobs/python/apscheduler-a5.toml",
        fixed="examples/jobs/python/apscheduler-a6.toml",
        build=[*_installed("a5", "-r requirements-a5.txt"), *_installed("a6", "-r requirements-a6.txt")],
    ),
    "bullmq-redis-in-memory": KnownBug(
        affected="examples/jobs/node/bullmq-in-memory.toml",
        fixed="examples/jobs/node/bullmq-on-disk.toml",
        build=["npm install --no-package-lock"],
    ),
}
"""In the order of the page."""


def main(names: Sequence[str]) -> int:
    """Find these bugs, or all, and print the table; return 1 if one was missed, or seen in a fixed system."""
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    by, missed = commit(), 0
    for name in names or BUGS:
        if found := seen(BUGS[name]):
            date = dt.datetime.now(tz=dt.UTC).date().isoformat()
            record[name] = {"date": date, "commit": by, **found}
            in_order = {bug: record[bug] for bug in BUGS if bug in record}
            RECORD.write_text(f"{json.dumps(in_order, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
        else:
            print(f"{name}: not found, or not fixed", file=sys.stderr)
            missed = 1
    print(table(), end="")
    return missed


def seen(bug: KnownBug) -> dict[str, Any] | None:
    """Run both systems; None if the bug was missed or the fixed one was not valid."""
    for command in bug.build:
        subprocess.run(shlex.split(command), cwd=(ROOT / bug.affected).parent, check=True)
    affected = _decided(bug.affected, "invalid")
    fixed = affected and _decided(bug.fixed, "valid")
    return {"affected": affected, "fixed": fixed} if affected and fixed else None


@cache
def commit() -> str:
    """Return the commit of this checkout at the first call; one with changes ends in "-dirty"."""
    described = ["git", "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty"]
    return subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _decided(target: str, verdict: str) -> dict[str, Any] | None:
    """Run a target until it has this verdict, as its file expects; None if it never has.

    A violation is never run again in search of a valid run.
    """
    for run in range(1, TRIES + 1):
        document = _run(ROOT / target)
        if document["verdict"] == verdict and document["as_expected"]:
            found = {name: count for name, count in document["anomalies"].items() if count}
            return {"target": target, "runs": run, "found": found}
        if document["verdict"] == "invalid":
            break
    return None


def _run(target: Path) -> dict[str, Any]:
    """Run a target once on Docker, in its folder; return its verdict document.

    A program that is started as python3 gets this Python, which has the libraries of Fencepost's clients.
    """
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "harness.cli", "run", "--engine", "docker", "--format", "json"]
        command += ["--runs", runs, str(target)]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": path}
        done = subprocess.run(
            command, cwd=target.parent, env=environment, stdout=subprocess.PIPE, check=False
        )
    document: dict[str, Any] = {"verdict": "none", "as_expected": False}
    return document | (json.loads(done.stdout) if done.stdout else {})


def table() -> str:
    """Return the table of the page: one row per bug that was ever found by this command."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return HEAD + "".join(_row(name, seen) for name, seen in record.items())


def _row(name: str, seen: dict[str, Any]) -> str:
    affected, fixed = seen["affected"], seen["fixed"]
    violations = ((name, count) for name, count in affected["found"].items() if name in VIOLATIONS)
    found = ", ".join(f"{name} ×{count}" for name, count in violations)
    cells = (
        f"[`{name}`](../{affected['target']})",
        seen["date"],
        f"`{seen['commit']}`",
        f"{found}, in run {affected['runs']}",
        f"[valid](../{fixed['target']}), in run {fixed['runs']}",
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
