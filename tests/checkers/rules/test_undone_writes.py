"""A write without an answer may cause a rejection, and be gone after a restart of the storage."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from checkers.history.records import Commit, FaultEvent, Header, History, Op
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Verdict
from tests.support.brute_force import INITIAL, history_of, read, renumbered, write
from tests.support.examples import Cases

KILLED, BACK = 8, 9


def judged(
    operations: Sequence[Op], kept: Sequence[Op] | None, policy: str, killed: int = KILLED, back: int = BACK
) -> Verdict:
    """Judge operations around a kill of the storage, which `kept` these writes; None: it has no log."""
    faults = tuple(
        FaultEvent(time=time, kind="kill", target="storage", state=state, evidence="seen")
        for time, state in ((killed, "in force"), (back, "healed"))
    )
    header = Header(target="t", policy=policy, require={"stale_writes_attempted": 0})
    history = History(header=header, operations=history_of(renumbered(operations)).operations, faults=faults)
    log = None if kept is None else [_commit(place, op) for place, op in enumerate(kept, start=1)]
    return judge(history, log, same_run=True)


def _commit(seq: int, op: Op) -> Commit:
    return Commit(seq=seq, resource=op.resource, token=op.token, value=op.value)


def names(verdict: Verdict) -> list[str]:
    return [finding.anomaly for finding in verdict.findings]


UNANSWERED, REFUSED = write(0, 3, 0, 1, "info"), write(1, 1, 4, 5, "stale")


@pytest.mark.parametrize("has_log", [True, False])
@pytest.mark.parametrize("later", [write(2, 2, 10, 12), read(2, INITIAL, 10, 12)])
def test_what_comes_after_a_restart_contradicts_no_rejection_before_it(later: Op, has_log: bool) -> None:
    kept = [later] if later.f == "write" else []

    verdict = judged([UNANSWERED, REFUSED, later], kept if has_log else None, "inclusive")

    assert (names(verdict), verdict.reasons) == ([], ())


@pytest.mark.parametrize("has_log", [True, False])
def test_a_strict_fence_may_accept_the_token_of_an_undone_write_again(has_log: bool) -> None:
    unanswered, again = write(0, 1, 3, 7, "info"), write(2, 1, 10, 12)

    verdict = judged([unanswered, REFUSED, again], [again] if has_log else None, "strict")

    assert (names(verdict), verdict.reasons) == ([], ())


@pytest.mark.parametrize(("returned", "found"), [(7, ["non-linearizable"]), (8, [])])
def test_what_was_over_before_the_restart_contradicts_a_rejection(returned: int, found: list[str]) -> None:
    earlier = write(2, 2, 6, returned)

    assert names(judged([UNANSWERED, REFUSED, earlier], None, "inclusive")) == found


@pytest.mark.parametrize(("back", "found"), [(3, ["non-linearizable"]), (4, [])])
def test_a_rejection_after_the_restart_needs_another_reason(back: int, found: list[str]) -> None:
    later = write(2, 2, 10, 12)

    assert names(judged([UNANSWERED, REFUSED, later], None, "inclusive", 2, back)) == found


def test_a_right_storage_that_loses_unanswered_writes_is_never_accused(cases: Cases) -> None:
    rng = random.Random(7)
    lost = 0
    for _ in range(cases(3000)):
        policy = rng.choice(["strict", "inclusive"])
        operations, kept, was_lost = _of_a_right_storage(rng, policy)
        lost += was_lost
        for log in (kept, None):
            verdict = judged(operations, log, policy, 20, 22)
            assert (names(verdict), verdict.reasons) == ([], ()), (operations, log, policy)
    assert lost > cases(3000) / 10


def _of_a_right_storage(rng: random.Random, policy: str) -> tuple[list[Op], list[Op], bool]:
    """What clients saw of a storage that is killed at 20, what it has at the end, and whether it lost anything."""
    operations: list[Op] = []
    kept: list[Op] = []
    was_lost = False
    for moment in sorted(rng.sample([*range(4, 20), *range(22, 40)], rng.randint(3, 7))):
        if moment >= 20 and (not operations or operations[-1].called < 20):
            while kept and kept[-1].outcome == "info" and rng.random() < 0.8:
                kept.pop()
                was_lost = True
        place = len(operations)
        called = max(moment - rng.randint(0, 3), 22 if moment >= 20 else 0)
        returned = moment + rng.randint(0, 3)
        returned = min(returned, 19) if moment < 20 else returned
        called = min(called, returned)
        mark = kept[-1].token or 0 if kept else 0
        token = rng.randint(1, 3)
        if rng.random() < 0.25:
            shown = (kept[-1].value, mark) if kept else INITIAL
            operations.append(read(place, shown, called, returned))
            if kept and kept[-1].outcome == "info":  # a lost write that was read is another matter
                break
        elif token < mark or (token == mark and policy == "strict"):
            operations.append(write(place, token, called, returned, "stale"))
        else:
            accepted = write(place, token, called, returned, rng.choice(["ok", "info"]))
            operations.append(accepted)
            kept.append(accepted)
    return operations, kept, was_lost
