"""Each bug of the zoo is caught by one short run: on the local engine, or on Docker where only that can run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.zoo_exhibits import Exhibit, exhibits
from harness.core.exit_codes import ExitCode
from harness.engines.choice import choose
from harness.engines.local import LocalEngine
from harness.run.deployment import topology
from harness.spec.reading import zoo
from tests.support.command import run_target
from tests.support.missing import need
from tests.support.selection import nightly

pytestmark = [pytest.mark.slow, pytest.mark.engine]

SHORT = "4s"
OWN_LENGTH = {
    "append-without-fence-on-acquire",
    "client-library-that-retries",
    "failover-without-stonith",
    "fallback-to-another-server",
    "header-revision-etcd-3-4",
    "late-renewal-taken-as-valid",
    "lease-id-token",
    "mark-from-a-standby",
    "mark-in-memory-with-restart",
    "redis-without-persistence",
    "redlock-one-clock-jumped",
    "retry-without-the-token",
    "second-set-drops-expiry",
    "sequence-number-token",
    "timeout-counted-as-failure",
}
"""Whose faults need as long as their target says: for the others, a few seconds are enough."""


def one_of_each_anomaly() -> list[object]:
    """The others are for the night: `make zoo` runs them all with their twins."""
    first = {tuple(exhibit.bug.expected): exhibit for exhibit in reversed(exhibits())}
    return [*first.values(), *nightly(*(each for each in exhibits() if each not in first.values()))]


@pytest.mark.parametrize("exhibit", one_of_each_anomaly(), ids=lambda exhibit: exhibit.name)
def test_a_bug_is_caught_by_one_run(tmp_path: Path, exhibit: Exhibit) -> None:
    servers = topology(exhibit.bug, exhibit.bug.faults)
    engine = choose("docker") if LocalEngine().refusal(servers) else LocalEngine()
    need(engine, servers)
    file = zoo()[exhibit.name]
    shorter = () if exhibit.name in OWN_LENGTH else (f"workload.duration={SHORT}",)

    done = run_target(tmp_path, file, *shorter, engine=engine.name)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["as_expected"]
    assert all(verdict["anomalies"][name] for name in exhibit.bug.expected), verdict["anomalies"]
