"""What shows that the storage went back for good, and what a restart may have undone without an answer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import gather
from checkers.history.records import Header, History, Op
from checkers.rules.lost_writes import lost_in_log
from checkers.rules.registers import observed
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Verdict
from tests.support.brute_force import INITIAL, history_of, read, renumbered, write
from tests.support.brute_force import fenced as fence_of
from tests.support.commit_logs import log
from tests.support.lock_requests import fault
from tests.support.selection import Cases

BACK = [write(0, 2, 0, 1), write(1, 4, 2, 3), read(2, ("v0", 2), 4, 5)]
"""A storage that had token 4 went back to token 2."""


def found(operations: Sequence[Op], *, strict: bool = True, fenced: bool = True) -> list[Conflict]:
    return list(observed(gather(history_of(renumbered(operations), strict=strict, fenced=fenced))))


def restarted(began: int, *operations: Op) -> list[tuple[str, list[int]]]:
    """What is found after a restart that began then: each with the proof."""
    conflicts = after_restart(began, *operations)
    return [(each.anomaly, [op.index for op in each.because]) for each in conflicts]


def after_restart(began: int, *operations: Op, strict: bool = True, fenced: bool = True) -> list[Conflict]:
    history = history_of(renumbered(operations), strict=strict, fenced=fenced)
    return list(observed(gather(replace(history, faults=tuple(fault("storage", began, began, "restart"))))))


def is_lost(*more: Op, strict: bool = True, fenced: bool = True) -> bool:
    conflicts = found([*BACK, *more], strict=strict, fenced=fenced)
    return any(each.anomaly == "lost-write" for each in conflicts)


@pytest.mark.parametrize(
    ("strict", "lost"),
    [(True, {1: False, 2: False, 3: True, 4: True}), (False, {1: False, 2: True, 3: True})],
)
def test_a_write_shows_a_loss_that_the_mark_of_the_past_lets_through(
    strict: bool, lost: dict[int, bool]
) -> None:
    assert {token: is_lost(write(3, token, 6, 7), strict=strict) for token in lost} == lost


def test_a_write_that_was_sent_before_the_read_returned_shows_no_loss() -> None:
    assert is_lost(write(3, 3, 6, 7))
    assert not is_lost(write(3, 3, 5, 7))
    assert not is_lost(write(3, 3, 4, 7))


def test_without_a_fence_no_write_shows_a_loss() -> None:
    assert not is_lost(write(3, 3, 6, 7), fenced=False)


def test_a_write_that_a_newer_one_proves_stale_does_not_follow_from_a_loss() -> None:
    conflicts = found([*BACK, write(3, 5, 6, 7), write(4, 3, 8, 9)])

    assert [each.anomaly for each in conflicts] == ["lost-write", "stale-write"]
    assert conflicts[1].cause is None


@pytest.mark.parametrize(
    ("token", "strict", "is_named"),
    [(1, False, False), (2, False, True), (2, True, False), (3, False, True), (3, True, True)],
)
def test_a_loss_is_the_cause_of_what_the_mark_of_the_past_lets_through(
    token: int, strict: bool, is_named: bool
) -> None:
    lost, *_, stale = after_restart(4, *BACK, write(3, token, 6, 7), strict=strict)

    assert (lost.anomaly, stale.anomaly) == ("lost-write", "stale-write")
    assert (stale.cause is lost) is is_named


def test_a_strict_mark_of_0_does_not_let_token_0_through() -> None:
    past, late = read(1, (None, 0), 4, 5), write(2, 0, 6, 7)

    lost, *_, stale = after_restart(4, write(0, 4, 2, 3), past, late)

    assert (lost.anomaly, stale.anomaly, stale.cause) == ("lost-write", "stale-write", None)


def test_a_loss_is_the_cause_only_of_what_a_fence_let_through() -> None:
    late, misread = write(3, 3, 6, 7), read(3, ("v0", 3), 6, 7)

    for which, fenced, anomaly in ((late, False, "stale-write"), (misread, True, "non-linearizable")):
        conflicts = after_restart(4, *BACK, which, fenced=fenced)
        assert {each.anomaly: each.cause for each in conflicts} == {"lost-write": None, anomaly: None}


def test_a_write_below_the_start_does_not_follow_from_a_loss() -> None:
    header = Header(target="t", policy="strict", initial_token=2)
    low, back = write(0, 1, 0, 1), (write(1, 3, 2, 3), write(2, 5, 4, 5), read(3, ("v1", 3), 6, 7))
    stayed = read(4, ("v1", 3), 8, 9)
    history = replace(history_of(renumbered([low, *back, stayed])), header=header)

    conflicts = observed(gather(history))

    assert {each.anomaly: each.cause for each in conflicts} == {"lost-write": None, "stale-write": None}


def test_a_write_called_before_the_lost_one_does_not_follow_from_the_loss() -> None:
    operations = [write(0, 2, 10, 11), write(1, 4, 12, 13), write(2, 3, 14, 15), write(3, 5, 16, 17)]
    back = [read(4, ("v0", 2), 18, 19), read(5, ("v0", 2), 20, 21)]

    conflicts = found([*operations, *back])

    assert {each.anomaly: each.cause for each in conflicts} == {"lost-write": None, "stale-write": None}


def test_what_showed_a_lost_write_is_shown() -> None:
    unknown, reads = write(1, 4, 2, 3, "info"), [read(2, ("v1", 4), 4, 5), read(3, ("v0", 2), 6, 7)]

    lost, *_ = found([BACK[0], unknown, *reads, read(4, ("v0", 2), 8, 9)])

    assert (lost.anomaly, [op.index for op in lost.because]) == ("lost-write", [2, 0, 3, 4])


def test_without_a_fence_no_mark_goes_back() -> None:
    reads = [read(2, ("v1", 4), 4, 5), read(3, ("v0", 2), 6, 7), read(4, ("v0", 2), 8, 9)]
    names = [{each.anomaly for each in found([*BACK[:2], *reads], fenced=fenced)} for fenced in (True, False)]

    assert names == [{"lost-write", "high-water-regression"}, {"lost-write"}]


@pytest.mark.parametrize(("restarted", "lost"), [(1, []), (2, [("lost-write", 1)])])
def test_a_fence_from_before_a_restart_that_the_log_lacks_is_a_lost_write(
    restarted: int, lost: list[tuple[str, int]]
) -> None:
    operations = [write(0, 1, 0, 1), fence_of(write(1, 2, 2, 3)), fence_of(write(2, 3, 8, 9))]
    faults = tuple(fault("storage", restarted, restarted, "restart"))
    history = replace(history_of(renumbered(operations)), faults=faults)

    conflicts = lost_in_log(gather(history, log((1, "v0"), (3, None))))

    assert [(each.anomaly, each.accused.index) for each in conflicts] == lost


def test_a_value_that_came_back_after_a_restart_was_not_lost() -> None:
    back = read(3, ("v1", 4), 6, 7)

    assert restarted(4, *BACK) == [("lost-write", [0, 2])]
    assert restarted(4, *BACK, back) == [("stale-read", [1, 3])]
    assert restarted(6, *BACK, back) == [("stale-read", [1])]


@pytest.mark.parametrize(("returned", "is_lost"), [(1, True), (2, False)])
def test_only_what_a_value_surely_replaced_is_older(returned: int, is_lost: bool) -> None:
    conflicts = found([write(0, 2, 0, returned), *BACK[1:], write(3, 3, 6, 7)])

    assert ("lost-write" in {each.anomaly for each in conflicts}) == is_lost


@pytest.mark.parametrize(("returned", "is_lost"), [(2, True), (3, False)])
def test_a_value_whose_write_returned_as_another_was_sent_may_replace_it(
    returned: int, is_lost: bool
) -> None:
    writes = write(0, 1, 1, returned), write(1, 3, 3, 3)
    reads = read(2, ("v1", 3), 6, 6), read(3, ("v0", 1), 8, 11), read(4, INITIAL, 17, 17)

    assert ("lost-write" in {each.anomaly for each in found([*writes, *reads])}) == is_lost


def test_a_write_that_one_in_flight_with_it_may_have_replaced_was_not_lost() -> None:
    old, one, other = write(0, 1, 0, 1), write(1, 1, 2, 5), write(2, 1, 3, 5)
    gone, back = read(3, ("v0", 1), 6, 7), read(4, ("v1", 1), 8, 9)

    for more, is_lost in ([], True), ([back], False):
        conflicts = after_restart(5, old, one, other, gone, *more, fenced=False)
        assert ("lost-write" in {each.anomaly for each in conflicts}) == is_lost


@pytest.mark.parametrize(("kind", "did"), [("kill", "was killed"), ("script", "was hit by script")])
def test_a_loss_names_what_happened_to_the_storage(kind: str, did: str) -> None:
    operations = history_of(renumbered([write(0, 1, 0, 1), write(1, 2, 8, 9)])).operations
    lines = tuple(replace(op, lines=(2 + 2 * op.index, 3 + 2 * op.index)) for op in operations)
    history = replace(history_of(()), operations=lines, faults=tuple(fault("storage", 4, 5, kind)))

    (lost,) = judge(history, log((2, "v1")), same_run=True).findings

    assert lost.account.doubt == ""
    assert any(f"the storage {did} at " in step for step in lost.steps)


KILLED, UP_AGAIN = 8, 9


def judged(
    operations: Sequence[Op],
    kept: Sequence[Op] | None,
    policy: str,
    killed: int = KILLED,
    back: int = UP_AGAIN,
) -> Verdict:
    """Judge operations around a kill of the storage, which `kept` these writes; None: it has no log."""
    faults = tuple(fault("storage", killed, back, "kill"))
    header = Header(target="t", policy=policy, require={"stale_writes_attempted": 0})
    history = History(header=header, operations=history_of(renumbered(operations)).operations, faults=faults)
    commits = None if kept is None else log(*((op.token, str(op.value)) for op in kept))
    return judge(history, commits, same_run=True)


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
        for stored in (kept, None):
            verdict = judged(operations, stored, policy, 20, 22)
            assert (names(verdict), verdict.reasons) == ([], ()), (operations, stored, policy)
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
