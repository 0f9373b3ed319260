"""Correct queues are never accused where they keep their promise, and wrong ones are found."""

from __future__ import annotations

from collections import Counter

import pytest

from checkers.facts.evidence import gather
from checkers.history.faults import client_of, faults_of
from checkers.history.records import History, Op
from checkers.rules.double_runs import double_runs
from checkers.rules.lost_runs import lost_runs
from tests.oracles import jobs as definitions
from tests.support.selection import Cases
from tests.support.simulated_queues import SLOWEST, QueueRun

ALL = ("kill", "restart", "pause", "partition")


@pytest.mark.parametrize(
    ("kind", "faults"), [("leased", ("kill", "restart")), ("cron", ("kill", "restart")), ("once", ALL)]
)
def test_a_queue_that_keeps_its_promise_is_never_accused(
    kind: str, faults: tuple[str, ...], cases: Cases
) -> None:
    executed = 0
    for seed in range(cases(800)):
        run = QueueRun(seed=seed, kind=kind, faults=faults).history()

        assert (list(double_runs(gather(run))), list(lost_runs(gather(run)))) == ([], []), seed
        executed += sum(op.f == "execute" for op in run.operations)

    assert executed


@pytest.mark.parametrize("kind", ["leased", "cron"])
def test_only_workers_that_were_stopped_or_cut_off_run_a_job_twice(kind: str, cases: Cases) -> None:
    accused = 0
    for seed in range(cases(800)):
        run = QueueRun(seed=seed, kind=kind, faults=ALL).history()

        found = list(double_runs(gather(run)))

        assert list(lost_runs(gather(run))) == [], seed
        assert all(was_hit(run, each.because[0], each.accused) for each in found), seed
        accused += len(found)

    assert accused


def was_hit(run: History, first: Op, again: Op) -> bool:
    """Was the worker of the older attempt under a fault while it had the job, before the second beginning?"""
    late = min(first, again, key=lambda op: op.token or 0)
    faults = (fault for fault in faults_of(run.faults) if fault.client == client_of(late.process, run.header))
    return any(fault.overlaps(first.called - SLOWEST, again.called) for fault in faults)


@pytest.mark.parametrize("kind", ["leased", "cron", "once"])
def test_the_rules_agree_with_the_definitions_on_simulated_runs(kind: str, cases: Cases) -> None:
    for seed in range(cases(400)):
        run = QueueRun(seed=seed, kind=kind, faults=ALL, bug=("", "forgets", "repeats")[seed % 3]).history()
        evidence = gather(run)

        twice = {each.accused.index: each.because[0].index for each in double_runs(evidence)}
        lost = {each.accused.index for each in lost_runs(evidence)}

        assert twice == definitions.double_runs(run.operations), seed
        assert lost == definitions.lost_runs(run.operations, run.header, faults_of(run.faults)), seed


def test_wrong_queues_are_found(cases: Cases) -> None:
    found: Counter[str] = Counter()
    for seed in range(cases(400)):
        forgets = gather(QueueRun(seed=seed, kind="leased", bug="forgets").history())
        repeats = gather(QueueRun(seed=seed, kind="leased", bug="repeats").history())
        found["forgets"] += bool(list(lost_runs(forgets)))
        found["repeats"] += any(each.breach.rule == "acknowledged" for each in double_runs(repeats))

    assert min(found["forgets"], found["repeats"]) > cases(400) // 10
