"""Each bug of the zoo, and each published one, is caught, and not where it is fixed."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.cli.zoo_exhibits import Exhibit, exhibits
from harness.core.exit_codes import ExitCode
from harness.engines.choice import choose
from harness.engines.local import LocalEngine
from harness.run.deployment import topology
from harness.spec import load
from harness.spec.reading import in_folder, shipped_folder, zoo
from tests.support.challenged import found_nothing, repeated, run_until_challenged
from tests.support.command import run_target
from tests.support.missing import need
from tests.support.repository import ROOT
from tests.support.selection import nightly

SHORT = "4s"
OWN_LENGTH = {
    "append-without-fence-on-acquire",
    "client-library-that-retries",
    "cron-lock-without-expiry",
    "failover-without-stonith",
    "fallback-to-another-server",
    "header-revision-etcd-3-4",
    "late-renewal-taken-as-valid",
    "lease-id-token",
    "mark-from-a-standby",
    "mark-in-memory-with-restart",
    "redis-without-persistence",
    "redlock-one-clock-jumped",
    "release-before-the-work-is-done",
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


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("exhibit", one_of_each_anomaly(), ids=lambda exhibit: exhibit.name)
def test_a_bug_is_caught_by_one_run_or_by_the_next(tmp_path: Path, exhibit: Exhibit) -> None:
    servers = topology(exhibit.bug, exhibit.bug.faults)
    engine = choose("docker") if LocalEngine().refusal(servers) else LocalEngine()
    need(engine, servers)
    file = zoo()[exhibit.name]
    shorter = () if exhibit.name in OWN_LENGTH else (f"workload.duration={SHORT}",)

    done = run_target(tmp_path, file, *shorter, engine=engine.name)
    if found_nothing(done):  # on a busy machine the faults of a run may miss the faulty code
        done = run_target(tmp_path, file, engine=engine.name)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["as_expected"]
    assert all(verdict["anomalies"][name] for name in exhibit.bug.expected), verdict["anomalies"]


FIXED = "-fixed"
FILES = in_folder(shipped_folder() / "history")
BUGS = [name for name in FILES if not name.endswith(FIXED)]
BUILT = ("etcd-stale-read-index", "nats-bucket-lost", "versitygw-two-winners")
QUICK = [name for name in FILES if not name.startswith(BUILT)]
"""Those whose releases need not be built for this test alone, which takes minutes."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_known_bug_has_a_fixed_release_and_a_row(bug: str) -> None:
    affected, fixed = load(FILES[bug]), load(FILES[bug + FIXED])

    assert affected.expected
    assert not fixed.expected
    assert affected.faults == fixed.faults
    page = (ROOT / "docs" / "known-bugs.md").read_text(encoding="utf-8")
    assert f"(../targets/history/{bug}.toml)" in page
    assert f"(../targets/history/{bug}{FIXED}.toml)" in page


@pytest.mark.nightly
@pytest.mark.timeout(900)  # a release may be built first
@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize("name", QUICK)
def test_a_known_bug_is_found_where_it_is_and_only_there(name: str, tmp_path: Path) -> None:
    def run(duration: str) -> CompletedProcess[str]:
        return run_target(tmp_path, FILES[name], duration, engine="docker")

    if name.endswith(FIXED):
        done = run_until_challenged(run, seconds=10)
    else:
        done = repeated(lambda: run("workload.duration=20s"), missed)

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["verdict"] == ("valid" if name.endswith(FIXED) else "invalid")


def missed(done: CompletedProcess[str]) -> bool:
    """Did a run miss a bug that not every run meets?"""
    return bool(done.stdout) and json.loads(done.stdout)["verdict"] != "invalid"
