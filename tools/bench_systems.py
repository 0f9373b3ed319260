"""Bench every shipped lock service and storage, and write their figures into docs/bench.md.

It needs Docker, two minutes a target, and a machine with nothing else to do. What was found is kept in
docs/bench, one file a target, so that one can be measured again alone:

    make bench-systems NAMES="redis-postgres"
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.bench.document import BENCH, BenchDocument
from harness.bench.requirements import judged
from harness.spec.bench import BenchSpec
from tools.bench_page import OVERHEAD, RATE, TAIL, section

ROOT = Path(__file__).parents[1]
FOUND = ROOT / "docs/bench"
PAGE = ROOT / "docs/bench.md"
TARGETS = {
    "etcd-etcd": "2m",
    "etcd-lock-postgres": "2m",
    "etcd-same-etcd": "2m",
    "get-lock-mariadb": "2m",
    "nats-postgres": "2m",
    "redis-dynamodb": "2m",
    "redis-postgres": "4m",
    "redis-redis": "2m",
    "redis-sqlite": "2m",
    "redlock-redis-unfenced": "2m",
    "s3-s3": "2m",
    "sql-lease-postgres": "2m",
    "zookeeper-zookeeper": "2m",
    "etcd-postgres-failover": "30s",
    "etcd-postgres-leader-isolated": "30s",
    "redis-postgres-failover": "30s",
}
"""Each lock service and each storage at least once, and how long all measurements of each take."""
ASKED = BenchSpec.model_validate(
    {"acquire_rate": RATE, "acquire_p99": f"{TAIL}ms", "fence_overhead": f"{OVERHEAD}ms"}
)
_BEGIN = "## Every shipped system\n"


def main(names: Sequence[str]) -> None:
    """Bench these targets, or all, and write the page."""
    FOUND.mkdir(exist_ok=True)
    for target, lasts in TARGETS.items():
        if not names or target in names:
            _bench(target, lasts)
    known = {
        target: judged(msgspec.json.decode(file.read_bytes(), type=BenchDocument), ASKED)
        for target in TARGETS
        if (file := FOUND / f"{target}.json").exists()
    }
    before = PAGE.read_text().partition(_BEGIN)[0]
    PAGE.write_text("\n".join([before + _BEGIN, *section(known)]))


def _bench(target: str, lasts: str) -> None:
    asked = ("--set", f"bench.acquire_rate={RATE}")  # an open loop of its own
    with tempfile.TemporaryDirectory() as folder:
        command = ["bench", target, "--engine", "docker", "--for", lasts, "--benches", folder, *asked]
        subprocess.run([sys.executable, "-m", "harness.cli", *command], cwd=ROOT, check=False)
        found = json.loads((Path(folder) / target / "latest" / BENCH).read_text())
    for series in found["series"]:
        for latencies in series["latencies"].values():
            latencies["curve"] = []  # the page of a bench draws it; this one does not
    (FOUND / f"{target}.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
