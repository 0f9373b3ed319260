"""Shrinking: excerpts that are still wrong in the same way, and ever smaller targets."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import (
    ConfigurationError,
    FaultNotInstalledError,
    FencepostError,
    InfrastructureError,
)
from harness.files.run_folder import COMMITS, HISTORY
from harness.report.first_finding import primary
from harness.run.recheck import Judged, judge_file
from harness.shrink import smaller_target
from harness.shrink.excerpt import _Recording, smallest
from harness.shrink.reduce import reduced
from harness.shrink.smaller_target import SmallerTarget
from harness.spec import Target
from tests.support.recorded_runs import Unpack
from tests.support.repository import ROOT
from tests.support.target_files import SUPERSEDED, target_text

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

ALSO = ("second-set-drops-expiry", "redis-without-persistence", "string-comparison-of-tokens", "uuid-token")


def judged_in(folder: Path) -> Judged:
    commits = folder / COMMITS
    return judge_file(folder / HISTORY, commits if commits.exists() else None, same_run=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*LARGEST, *ALSO])
def test_an_excerpt_is_small_and_has_just_the_finding_of_its_run(
    recorded_run: Unpack, tmp_path: Path, name: str
) -> None:
    run = recorded_run(name)
    whole = judged_in(run)
    excerpt = smallest(run, whole)
    excerpt.write(tmp_path / HISTORY, tmp_path / COMMITS)

    alone = judged_in(tmp_path).document

    left = (excerpt.operations, excerpt.clients, excerpt.faults)
    assert all(number <= most for number, most in zip(left, LARGEST.get(name, left), strict=True)), left
    wanted = primary(whole.document.as_dict())
    assert wanted
    (finding,) = alone.findings
    assert [finding.anomaly, finding.rule, finding.fault] == [wanted[k] for k in ("anomaly", "rule", "fault")]
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


@pytest.mark.slow
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


TARGET = target_text(
    SUPERSEDED,
    '[[faults]]\nkind = "kill"\ntarget = "lock"\nevery = "8s"\nlasts = "1s"',
    lock='kind = "redis"',
    storage='kind = "postgres"\nfencing = "none"',
).replace('"valid"', '["early-grant", "stale-write"]')


@pytest.fixture
def smaller(tmp_path: Path) -> SmallerTarget:
    finding = {"anomaly": "stale-write", "rule": "after-newer"}
    options: Any = {"engine": None, "runs": tmp_path, "deadline": float("inf"), "notify": lambda _line: None}
    return SmallerTarget(text=TARGET, name="t.toml", finding=finding, seed=1, **options)


def kinds(target: Target) -> list[str]:
    return [fault.kind for fault in target.faults]


def test_a_smaller_target_need_show_only_one_of_the_expected_anomalies(smaller: SmallerTarget) -> None:
    assert (smaller.target.expected, smaller.target.may) == (("stale-write",), ("early-grant",))


def test_interrupts_keep_the_smallest_target(smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    def shows(_: SmallerTarget, target: Target, _seed: int) -> tuple[bool]:
        if not target.faults or target.workload.clients < smaller.target.workload.clients:
            raise KeyboardInterrupt
        return ("pause" in kinds(target),)

    monkeypatch.setattr(SmallerTarget, "_shows", shows)

    with pytest.raises(KeyboardInterrupt):
        smaller.shrink()

    assert kinds(smaller.target) == ["pause"]


def runs(monkeypatch: pytest.MonkeyPatch, *outcomes: Any) -> None:
    """Let the runs end like this, one after another."""
    following = iter(outcomes)

    def to_verdict(*_: Any) -> Any:
        outcome = next(following)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(smaller_target, "to_verdict", to_verdict)


def judged(*findings: Any) -> Any:
    return SimpleNamespace(document=SimpleNamespace(findings=findings), folder=Path("run"))


STALE = SimpleNamespace(anomaly="stale-write", rule="after-newer")
UNOBSERVED = FaultNotInstalledError("pause", "client 1", "status is running")


def test_an_unobserved_fault_is_not_counted(smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, judged(STALE), UNOBSERVED, judged())

    assert smaller.measure(3) == (1, 2)


def test_nothing_is_said_without_judged_runs(smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    smaller.notify = said.append
    runs(monkeypatch, UNOBSERVED, UNOBSERVED, *[judged()] * 40)

    smaller.shrink()

    first = next(line for line in said if not line.startswith("a run failed"))
    assert first.endswith("not known: no run was judged")
    assert all(line.endswith("not enough, in 2 runs") for line in said[3:])


@pytest.mark.parametrize("error", [InfrastructureError("no module"), ConfigurationError("no class")])
def test_a_run_that_cannot_be_made_ends_the_shrinking_and_the_measurement(
    smaller: SmallerTarget, monkeypatch: pytest.MonkeyPatch, error: FencepostError
) -> None:
    runs(monkeypatch, error, judged(STALE), error)

    with pytest.raises(type(error)):
        smaller.shrink()
    with pytest.raises(type(error)):
        smaller.measure(2)


NEEDED = st.lists(st.frozensets(st.integers(0, 19), max_size=4), min_size=1, max_size=3)


@given(NEEDED)
def test_what_is_left_holds_and_no_part_of_it_can_be_left_out(needed: list[frozenset[int]]) -> None:
    """It holds of every selection that contains one of these sets."""

    def holds(parts: Sequence[int]) -> bool:
        return any(each <= set(parts) for each in needed)

    left = reduced(range(20), holds)

    assert holds(left)
    assert not any(holds([part for part in left if part != each]) for each in left)


@given(NEEDED)
def test_no_selection_is_tried_twice(needed: list[frozenset[int]]) -> None:
    tried: list[tuple[int, ...]] = []

    def holds(parts: Sequence[int]) -> bool:
        tried.append(tuple(parts))
        return any(each <= set(parts) for each in needed)

    reduced(range(20), holds)

    assert len(tried) == len(set(tried))


def test_everything_is_left_out_if_nothing_is_needed() -> None:
    assert list(reduced("abc", lambda _: True)) == []


def test_the_order_is_kept() -> None:
    assert list(reduced("abcdef", lambda parts: "b" in parts and "e" in parts)) == ["b", "e"]
