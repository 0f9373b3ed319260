"""A run with many of one thing is judged in time that grows about as its length.

Instead of the time, which depends on the machine, the calls of functions are counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import pytest

import fencepost
from benchmarks.many_faults import MANY
from benchmarks.scripted import STEP, Script
from checkers.explain import proof
from checkers.explain.conflict import Checker, Conflict
from checkers.explain.shapes import conflicts_among
from checkers.facts.evidence import Evidence
from tests.support.selection import nightly

FEW = 60  # operations
FIRST = ("stale writes", "early grants", "lost updates")  # the others have the night
MANY_OPERATIONS = 200
MOST = 2.6  # times as many calls for twice the operations: n log n, and some room


def judged(name: str, operations: int, folder: Path) -> Callable[[], fencepost.Verdict]:
    """Judge a run; its files are written before."""
    history, log = MANY[name].script(operations).written_to(folder)

    def judge() -> fencepost.Verdict:
        commits = None if log is None else fencepost.read_commits(log)
        return fencepost.judge(fencepost.read(history), commits, same_run=True)

    return judge


@pytest.mark.parametrize("name", MANY)
def test_the_anomaly_that_a_run_is_made_for_is_found(name: str, tmp_path: Path) -> None:
    verdict = judged(name, FEW, tmp_path)()

    finds = MANY[name].finds
    assert finds is None or verdict.anomalies[finds]
    assert not [reason for reason in verdict.reasons if "crashed" in reason or "explained" in reason]


def test_there_is_a_run_with_many_of_each_anomaly() -> None:
    assert {kind.finds for kind in MANY.values()} - {None} == set(fencepost.ANOMALIES)


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, and how often a generator goes on."""
    count = 0

    def counted(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FIRST, *nightly(*(name for name in MANY if name not in FIRST))])
def test_twice_the_operations_take_about_twice_the_calls(name: str, tmp_path: Path) -> None:
    counts = []
    for operations in (MANY_OPERATIONS, 2 * MANY_OPERATIONS):
        folder = tmp_path / str(operations)
        folder.mkdir()
        judge = judged(name, operations, folder)
        judge()  # what is known of some shapes is known to both
        counts.append(calls(judge))

    assert counts[1] < MOST * counts[0]


def test_proofs_that_take_too_much_work_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = judged("stale writes", FEW, tmp_path)()
    monkeypatch.setattr(proof, "_MOST_WORK", 0)
    monkeypatch.setattr(proof, "_MOST_WORK_EACH", 1)

    bounded = judged("stale writes", FEW, tmp_path)()

    assert bounded.anomalies == complete.anomalies
    assert bounded.findings == complete.findings
    *_, last = bounded.findings
    assert last.steps[-1].startswith("Not reduced to the smallest proof: ")
    assert set(last.operations) >= set(complete.findings[-1].operations)
    assert not any("Not reduced" in step for each in complete.findings for step in each.steps)


def test_of_many_that_wait_at_once_the_fewest_are_named(tmp_path: Path) -> None:
    (finding,) = judged("waiting acquires, in vain", 500, tmp_path)().findings

    assert len(finding.because) == 1
    assert len(finding.operations) == 2  # the lines of one acquire


def judged_again(name: str, operations: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many operations are judged again for the proofs of a run, none of which may be left unreduced."""
    count = 0

    def counted(whole: Evidence, part: Evidence, checker: Checker) -> Sequence[Conflict]:
        nonlocal count
        count += len(part.history.operations)
        return conflicts_among(whole, part, checker)

    with monkeypatch.context() as patched:
        patched.setattr(proof, "conflicts_among", counted)
        findings = judged(name, operations, folder)().findings
        assert not any("Not reduced" in step for each in findings for step in each.steps)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MANY if name.startswith("waiting acquires, ")])
def test_twice_the_waiting_acquires_are_judged_about_twice_as_often(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (judged_again(name, count, tmp_path, monkeypatch) for count in (500, 1_000))

    assert many < 2.3 * few  # n log n


def test_acquires_of_which_all_are_needed_are_all_in_the_proof(tmp_path: Path) -> None:
    (finding,) = judged("waiting acquires, none to spare", 600, tmp_path)().findings

    assert len(finding.operations) > 300  # lines of more than 150 acquires
    assert not any("Not reduced" in step for step in finding.steps)


def test_a_stretch_of_many_short_waits_is_reduced(tmp_path: Path) -> None:
    waits = 1_000
    lease = waits * STEP
    run = Script(header={"require": {"stale_writes_attempted": 0}, "ttl": lease, "grace": lease})
    run.do(0, "release", owner=run.grant(0, 1, ttl=lease))
    for number in range(waits):
        call = run.call(1 + number % 3, "acquire", owner=f"o{number}")
        run.now += 4 * STEP
        run.answer(call, "fail", error="held")

    (finding,) = fencepost.judge(fencepost.read(run.written_to(tmp_path)[0])).findings

    assert not any("Not reduced" in step for step in finding.steps)
    assert len(finding.operations) < waits / 10
