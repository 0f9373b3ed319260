"""The windows of 200 recorded runs: the nemesis decided live what the history shows.

`recorded-windows.tar.xz` has the target, the history and the windows of 20 runs of each of ten planted
bugs. Times are cut to microseconds, and reads are left out. Record others with `benchmarks.fingerprints`, and compare them with `tests.support.windows_by_facts`.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.support.windows_by_facts import compared

ARCHIVE = Path(__file__).with_name("recorded-windows.tar.xz")
RUNS = 20  # of each
BUGS = (
    "check-then-write",
    "code-path-without-the-token",
    "fallback-to-another-server",
    "fence-counter-deleted",
    "get-then-del-unlock",
    "lease-id-token",
    "read-from-a-cache",
    "second-set-drops-expiry",
    "uuid-token",
    "value-after-the-fence",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("bug", BUGS)
def test_the_nemesis_hits_what_the_history_shows(recorded: Path, bug: str) -> None:
    runs = sorted((recorded / bug).iterdir())
    windows = [each for run in runs for each in compared(run)]

    assert len(runs) == RUNS
    assert not [each for each in windows if not each.agree]
    assert sum(each.struck[0] for each in windows) >= RUNS
