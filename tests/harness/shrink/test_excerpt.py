"""Excerpts: still wrong in the same way, as small as possible, and never wrong in another way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigurationError
from harness.files.run_folder import COMMITS, HISTORY
from harness.report.first_finding import primary
from harness.run.recheck import Judged, judge_file
from harness.shrink.excerpt import _Recording, smallest
from tests.support.repository import ROOT
from tests.support.selection import slow

Unpack = Callable[[str], Path]

LARGEST = {
    "check-then-write": (4, 2, 1),
    "code-path-without-the-token": (4, 2, 1),
    "asynchronous-commit": (1, 1, 1),
    "client-library-that-retries": (2, 1, 1),
    "etcd-postgres-unfenced": (4, 2, 1),
    "fence-counter-deleted": (2, 2, 0),
    "read-from-a-cache": (3, 2, 0),
    "value-after-the-fence": (2, 2, 0),
}
"""The most operations, clients and faults that the excerpt of a recorded run may have."""
QUICK = "etcd-postgres-unfenced"
ALSO = ("second-set-drops-expiry", "redis-without-persistence", "string-comparison-of-tokens", "uuid-token")


def judged_in(folder: Path) -> Judged:
    commits = folder / COMMITS
    return judge_file(folder / HISTORY, commits if commits.exists() else None, same_run=True)


@pytest.mark.parametrize("name", LARGEST)
def test_few_operations_clients_and_faults_are_left(recorded_run: Unpack, name: str) -> None:
    run = recorded_run(name)

    excerpt = smallest(run, judged_in(run))

    left = (excerpt.operations, excerpt.clients, excerpt.faults)
    assert all(number <= most for number, most in zip(left, LARGEST[name], strict=True)), left


@pytest.mark.parametrize("name", [QUICK, *slow(*(each for each in (*LARGEST, *ALSO) if each != QUICK))])
def test_an_excerpt_has_just_the_finding_of_its_run(recorded_run: Unpack, tmp_path: Path, name: str) -> None:
    run = recorded_run(name)
    whole = judged_in(run)
    smallest(run, whole).write(tmp_path / HISTORY, tmp_path / COMMITS)

    alone = judged_in(tmp_path).document

    wanted = primary(whole.document.as_dict())
    assert wanted
    (finding,) = alone.findings
    assert (finding.anomaly, finding.rule, finding.fault) == tuple(
        wanted[key] for key in ("anomaly", "rule", "fault")
    )
    assert (alone.verdict, alone.as_expected) == (whole.document.verdict, whole.document.as_expected)


@pytest.mark.parametrize("name", ["a-late-release", "a-repeated-release", "an-unanswered-release"])
def test_an_excerpt_keeps_the_release_that_explains_an_early_grant(tmp_path: Path, name: str) -> None:
    lines = (ROOT / f"tests/histories/early-grant/after-{name}.jsonl").read_bytes()
    (tmp_path / HISTORY).write_bytes(lines)
    whole = judged_in(tmp_path)

    excerpt = smallest(tmp_path, whole)

    (finding,) = whole.document.findings
    named = {line for step in finding.step_lines for line in step}
    assert not named <= {*finding.operations}
    assert {lines.splitlines(keepends=True)[line - 1] for line in named} <= {*excerpt.history}


def six_stale_writes() -> Iterator[dict[str, Any]]:
    """Six of them, one after the other; only the client of the third was paused."""
    require = {"stale_writes_attempted": 0}
    yield {"fencepost": 1, "target": "t", "clients": 2, "fenced": False, "ttl": 2000, "require": require}
    for number in range(6):
        began, older, newer = 10_000 * number, number % 2, 1 - number % 2
        token, pause = 2 * number + 1, {"process": "nemesis", "type": "info", "f": "pause"}
        yield from done(began, older, "acquire", token, owner=f"{older}-{number}")
        if number == 2:
            yield {"time": began + 100, **pause, "value": {"target": f"client:{older}", "state": "in force"}}
        yield from done(began + 2100, newer, "acquire", token + 1, owner=f"{newer}-{number}")
        yield from done(began + 2200, newer, "write", token + 1, value=f"{newer}-{number}")
        if number == 2:
            yield {"time": began + 2300, **pause, "value": {"target": f"client:{older}", "state": "healed"}}
        yield from done(began + 2400, older, "write", token, value=f"{older}-{number}")


def done(time: int, process: int, f: str, token: int, **fields: str) -> Iterator[dict[str, Any]]:
    asked = {"process": process, "f": f, "resource": "r0", **fields}
    yield {"time": time, "type": "invoke", **asked} | ({"token": token} if f == "write" else {})
    granted = {"ttl": 2000, "attempt": time} if f == "acquire" else {}
    yield {"time": time + 10, "type": "ok", **asked, "token": token, **granted}


def test_a_history_with_other_findings_is_reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / HISTORY).write_text("".join(f"{json.dumps(line)}\n" for line in six_stale_writes()))
    monkeypatch.setattr(_Recording, "beginnings", lambda self, _finding: iter([self.parts]))

    excerpt = smallest(tmp_path, judged_in(tmp_path))

    assert (excerpt.operations, excerpt.clients, excerpt.faults) == (4, 2, 1)
    assert excerpt.finding["fault"] == "pause"


def test_the_lines_of_an_excerpt_are_those_of_the_run(recorded_run: Unpack) -> None:
    run = recorded_run("check-then-write")

    excerpt = smallest(run, judged_in(run))

    lines = (run / HISTORY).read_bytes().splitlines(keepends=True)
    kept = [lines.index(line) for line in excerpt.history]
    assert kept == sorted(kept)
    assert kept[0] == 0
    assert excerpt.commits
    assert set(excerpt.commits) <= set((run / COMMITS).read_bytes().splitlines(keepends=True))


def test_of_several_expected_anomalies_an_excerpt_shows_one(recorded_run: Unpack, tmp_path: Path) -> None:
    run = recorded_run("redis-without-persistence")
    smallest(run, judged_in(run)).write(tmp_path / HISTORY, tmp_path / COMMITS)

    document = judged_in(tmp_path).document

    assert len(document.named) == 1
    assert document.as_expected


@pytest.mark.parametrize("name", ["etcd-postgres", "not-exercised"])
def test_a_run_without_a_finding_cannot_shrink(recorded_run: Unpack, name: str) -> None:
    run = recorded_run(name)

    with pytest.raises(ConfigurationError, match="there is no finding to shrink to"):
        smallest(run, judged_in(run))
