"""Had a rejection a cause, in what clients saw, in the log, or in what the log may have lost?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.explain.conflict import Breach
from checkers.facts.evidence import Evidence, gather
from checkers.facts.log_order import LogOrder
from checkers.history.records import Commit, Op, Outcome
from checkers.rules import rejections
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.rejections import NO_CAUSE, of_logged
from checkers.rules.stale_reads import OLDER_THAN_ACCEPTED
from checkers.rules.stale_writes.by_clients import SEEN_AFTER_NEWER
from tests.support.brute_force import fenced, history_of, random_register_history, read, renumbered, write
from tests.support.brute_force import fenced as fence_of
from tests.support.commit_logs import committed, log, random_log
from tests.support.in_columns import seen
from tests.support.lock_requests import fault

FALSE = ("false-rejection", NO_CAUSE)


def judged(*operations: Op, **header: object) -> list[tuple[str, Breach]]:
    return [(anomaly, rule) for anomaly, rule, _, _ in seen(*operations, **header)]


@pytest.mark.parametrize("is_fenced", [True, False], ids=["fenced", "unfenced"])
@pytest.mark.parametrize(
    ("policy", "cause", "expected"),
    [("strict", 1, [FALSE]), ("strict", 2, []), ("inclusive", 2, [FALSE]), ("inclusive", 3, [])],
)
def test_a_fence_refuses_lower_tokens_and_a_strict_one_equal_ones(
    is_fenced: bool, policy: str, cause: int, expected: list[tuple[str, Breach]]
) -> None:
    operations = (write(0, cause, 0, 1), write(1, 2, 2, 3, "stale"))

    assert judged(*operations, policy=policy, fenced=is_fenced) == expected


@pytest.mark.parametrize("is_fenced", [True, False], ids=["fenced", "unfenced"])
def test_the_initial_token_is_a_cause(is_fenced: bool) -> None:
    assert judged(write(0, 0, 0, 1, "stale"), fenced=is_fenced) == []
    assert judged(write(0, 0, 0, 1, "stale"), fenced=is_fenced, policy="inclusive") == [FALSE]
    assert judged(write(0, 1, 0, 1, "stale"), fenced=is_fenced) == [FALSE]


@pytest.mark.parametrize(("called", "expected"), [(3, []), (4, [FALSE])])
@pytest.mark.parametrize("is_fenced", [True, False], ids=["fenced", "unfenced"])
def test_a_write_called_as_a_rejection_returned_can_be_its_cause(
    called: int, expected: list[tuple[str, Breach]], is_fenced: bool
) -> None:
    operations = (write(0, 2, 2, 3, "stale"), write(1, 5, called, 9))

    assert judged(*operations, fenced=is_fenced) == expected


def test_without_a_fence_any_newer_token_is_a_cause() -> None:
    late, early, lower = write(0, 3, 8, 9), write(1, 4, 0, 1, "info"), write(3, 1, 0, 1, "info")
    refused = write(2, 2, 2, 3, "stale")

    assert judged(late, early, lower, refused, fenced=False) == []
    assert judged(late, lower, refused, fenced=False) == [FALSE]


@pytest.mark.parametrize("refused_token", [1, 2])
def test_if_a_strict_refusal_was_right_a_later_equal_token_was_stale(refused_token: int) -> None:
    unknown, refused = write(0, 2, 0, 1, "info"), write(1, refused_token, 2, 3, "stale")
    accepted = write(2, 2, 5, 6)

    assert seen(unknown, refused, accepted) == [("non-linearizable", FALSE_OR_STALE, 2, [1])]
    assert judged(replace(unknown, called=4), refused, accepted) == [FALSE]
    assert judged(unknown, refused, accepted, policy="inclusive") == [FALSE] * (refused_token == 2)


def test_a_write_that_alone_can_have_caused_a_refusal_came_before_it() -> None:
    lower, unknown, refused = write(3, 1, 0, 0), write(0, 3, 1, 0, "info"), write(1, 2, 2, 4, "stale")
    newer, its_read = write(2, 4, 6, 7), read(4, ("v0", 3), 8, 9)
    stale_write, stale_read = ("stale-write", SEEN_AFTER_NEWER), ("stale-read", OLDER_THAN_ACCEPTED)

    assert judged(lower, unknown, newer, its_read) == [stale_write]
    assert seen(unknown, refused, newer, its_read) == [(*stale_read, 3, [2, 1])]
    assert judged(lower, unknown, refused, newer, its_read) == [stale_read]
    assert judged(unknown, refused, newer, its_read, write(5, 3, 1, 0, "info")) == [stale_write]
    assert judged(lower, unknown, refused, replace(newer, called=4), its_read) == [stale_write]
    earlier = write(1, 2, 2, 3, "stale")
    assert judged(unknown, earlier, replace(newer, called=4), its_read) == [stale_read]
    by_initial = {"policy": "inclusive", "initial": {"value": None, "token": 2}}
    assert judged(unknown, replace(refused, token=1), newer, its_read, **by_initial) == [stale_write]


def test_a_rejection_proves_a_timed_out_write_to_later_readers() -> None:
    # No client saw token 3 take effect, but nothing else can have caused the rejection of token 2.
    older, unknown, refused = write(0, 1, 0, 1), write(1, 3, 2, 0, "info"), write(2, 2, 4, 5, "stale")

    assert seen(older, unknown, refused, read(3, ("v0", 1), 6, 7)) == [
        ("non-linearizable", FALSE_OR_STALE, 3, [2])
    ]


def test_a_token_that_may_never_have_been_accepted_hides_none_above_it() -> None:
    refused, lower, higher = write(1, 1, 4, 5, "stale"), write(2, 2, 6, 7, "info"), write(0, 3, 0, 1)

    assert judged(refused, lower, higher) == []


def test_a_token_that_was_accepted_too_late_hides_those_above_it() -> None:
    refused, lower, higher = write(1, 1, 4, 5, "stale"), write(2, 2, 6, 7), write(0, 3, 0, 1, "info")

    assert seen(refused, lower, higher) == [("non-linearizable", FALSE_OR_STALE, 2, [1])]


def test_a_stale_write_hides_no_token_above_it() -> None:
    higher, refused, stale = write(0, 5, 0, 1), write(1, 3, 2, 3, "stale"), write(2, 3, 4, 5)

    assert [anomaly for anomaly, _ in judged(higher, refused, stale)] == ["stale-write"]


def test_a_rejections_proof_is_compared_with_each_later_value() -> None:
    lost, refused = write(0, 9, 0, 1, "info"), write(1, 5, 2, 3, "stale")
    first, second = write(2, 3, 4, 5), write(3, 4, 6, 7)

    assert seen(lost, refused, first, second) == [
        ("non-linearizable", FALSE_OR_STALE, 2, [1]),
        ("non-linearizable", FALSE_OR_STALE, 3, [1]),
    ]


def test_a_read_of_a_write_without_a_token_is_not_held_against_a_rejection() -> None:
    lost, refused, bare = write(0, 3, 0, 9, "info"), write(1, 2, 1, 2, "stale"), write(2, 0, 3, 4)

    assert judged(lost, refused, *(replace(op, token=None) for op in (bare, read(3, ("v2", 0), 5, 6)))) == []


def test_a_fence_may_have_caused_a_rejection_and_leaves_the_value() -> None:
    older, refused = write(0, 1, 0, 1), write(2, 2, 4, 5, "stale")
    ahead = replace(fenced(write(1, 9, 2, 3)), process=1)
    seen_again = read(3, ("v0", 1), 6, 7)

    assert judged(older, ahead, refused, seen_again) == []
    assert judged(older, replace(write(1, 9, 2, 3, "info"), process=1), refused, seen_again) == [
        ("non-linearizable", FALSE_OR_STALE)
    ]


def test_a_fence_with_a_lower_token_may_not_have_caused_a_rejection() -> None:
    older, lost, refused = write(0, 1, 0, 1), write(1, 9, 2, 3, "info"), write(3, 6, 4, 5, "stale")
    lower, later = (replace(fenced(write(i, token, i, i + 1)), process=i) for i, token in ((2, 5), (10, 9)))
    back = read(6, ("v0", 1), 6, 7)

    assert seen(older, lost, replace(lower, outcome="info", returned=None), refused, back, later) == [
        ("non-linearizable", FALSE_OR_STALE, 4, [3])
    ]


@pytest.mark.parametrize(("called", "expected"), [(5, []), (6, [FALSE])])
def test_of_equal_tokens_one_that_may_have_been_first_is_a_cause(
    called: int, expected: list[tuple[str, Breach]]
) -> None:
    unknown, refused, accepted = write(0, 2, 0, 9, "info"), write(1, 1, 1, 2, "stale"), write(2, 2, 4, 5)
    of_unknown, of_accepted = read(3, ("v0", 2), called, 9), read(4, ("v2", 2), 7, 8)

    assert judged(unknown, refused, accepted, of_unknown, policy="inclusive") == expected
    if expected:
        both = judged(unknown, refused, accepted, of_unknown, of_accepted, policy="inclusive")
        assert both == expected


UNSENT = [write(i, i, 10, 99, "info") for i in range(3, 80)]
"""Tokens that nobody had sent when a write was refused."""


def test_a_cause_may_be_far_above_a_rejected_token() -> None:
    refused, above = write(1, 2, 4, 5, "stale"), write(95, 95, 20, 21)

    assert judged(refused, *UNSENT, write(90, 90, 5, 99, "info"), above) == []
    assert judged(refused, *UNSENT, write(90, 90, 6, 99, "info"), above) == [FALSE]


@pytest.mark.parametrize(("called", "accused"), [(5, 80), (6, 2)])
def test_a_token_that_was_accepted_far_above_hides_those_above_it(called: int, accused: int) -> None:
    lost, refused = write(90, 86, 0, 99, "info"), write(1, 2, 4, 5, "stale")
    hiding, older = write(85, 85, called, 99), write(87, 1, 20, 99)

    assert seen(refused, *UNSENT, hiding, lost, older) == [("non-linearizable", FALSE_OR_STALE, accused, [1])]


def test_a_token_sent_as_a_rejection_returned_is_hidden_by_a_later_one() -> None:
    refused, hiding = write(1, 1, 4, 5, "stale"), write(2, 2, 6, 7)

    assert judged(refused, hiding, write(0, 3, 5, 9, "info")) == [("non-linearizable", FALSE_OR_STALE)]
    assert judged(refused, hiding, write(0, 3, 6, 9, "info")) == [FALSE]


def test_a_fence_that_caused_a_rejection_raised_the_mark_for_writes() -> None:
    ahead = replace(fenced(write(1, 9, 0, 1, "info")), process=1)
    refused, older = write(2, 5, 2, 3, "stale"), write(3, 3, 4, 5)

    assert seen(ahead, refused, older) == [("non-linearizable", FALSE_OR_STALE, 2, [1])]


def test_a_read_is_held_against_rejections_that_no_fence_may_have_caused() -> None:
    older, lost, first = write(0, 1, 0, 1), write(1, 9, 2, 3, "info"), write(2, 5, 4, 5, "stale")
    ahead = replace(fenced(write(3, 20, 6, 7, "info")), process=3)
    second, back = write(4, 10, 8, 9, "stale"), read(5, ("v0", 1), 10, 11)

    assert seen(older, lost, first, ahead, second, back) == [("non-linearizable", FALSE_OR_STALE, 5, [2])]


def found(
    *operations: Op, commits: Sequence[Commit], fenced: bool = True, restarted: bool = False
) -> list[tuple[str, int]]:
    history = history_of(renumbered(operations), fenced=fenced)
    history = replace(history, faults=tuple(fault("storage", 1, 2, "restart")) * restarted)
    return [(each.anomaly, each.accused.index) for each in of_logged(gather(history, commits, same_run=True))]


REFUSED = write(9, 3, 4, 5, "stale")
FALSE_SECOND = [("false-rejection", 1)]


@pytest.mark.parametrize(("called", "expected"), [(5, []), (6, [("false-rejection", 0)])])
def test_a_logged_write_is_a_cause_if_sent_before_the_rejection_returned(
    called: int, expected: list[tuple[str, int]]
) -> None:
    assert found(REFUSED, write(1, 5, called, 9), commits=log((5, "v1"))) == expected


@pytest.mark.parametrize(("called", "expected"), [(5, []), (6, [("false-rejection", 0)])])
def test_a_fence_is_a_cause_where_the_log_has_no_fences(called: int, expected: list[tuple[str, int]]) -> None:
    fence = fence_of(write(1, 5, called, 9, "info"))

    assert found(REFUSED, fence, write(2, 1, 10, 11), commits=log((1, "v2"))) == expected


@pytest.mark.parametrize(("called", "expected"), [(2, []), (3, FALSE_SECOND)])
def test_a_fence_that_was_sent_until_a_restart_may_be_gone_from_the_log(
    called: int, expected: list[tuple[str, int]]
) -> None:
    gone, logged = (fence_of(write(i, 9 - i, called + 8 * i, 30, "info")) for i in (0, 1))

    assert found(gone, REFUSED, logged, commits=log((8, None)), restarted=True) == expected


@pytest.mark.parametrize(("outcome", "expected"), [("info", []), ("stale", FALSE_SECOND)])
def test_an_unknown_write_may_be_gone_from_the_log_a_failed_one_never_was(
    outcome: str, expected: list[tuple[str, int]]
) -> None:
    failed = replace(write(0, 9, 0, 3, outcome), error=None)

    assert found(failed, REFUSED, write(2, 1, 6, 7), commits=log((1, "v2")), restarted=True) == expected


@pytest.mark.parametrize(("fenced", "expected"), [(True, [("non-linearizable", 3)]), (False, [])])
def test_a_refusal_shows_the_order_only_where_a_fence_is_promised(
    fenced: bool, expected: list[tuple[str, int]]
) -> None:
    operations = write(0, 1, 0, 1), write(1, 5, 2, 9, "info"), REFUSED, read(3, ("v0", 1), 6, 7)

    assert found(*operations, commits=log((1, "v0"), (5, "v1")), fenced=fenced) == expected


def of_rejections(evidence: Evidence) -> list[object]:
    return list(rejections.of_logged(Evidence(history=evidence.history, log=evidence.log)))


@pytest.mark.slow
def test_what_comes_too_late_by_refusals_is_found_as_in_a_second_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(0)
    answers: list[bool] = []
    make_late = LogOrder._make_late

    def answered(order: LogOrder, *arguments: Any) -> bool:
        answers.append(make_late(order, *arguments))
        return answers[-1]

    for _ in range(3000):
        operations = random_register_history(rng)
        log = committed(random_log(rng, operations))
        if not any(op.error == "stale" for op in operations):
            continue
        evidence = gather(history_of(operations, strict=rng.random() < 0.5), log, same_run=True)
        monkeypatch.setattr(LogOrder, "_make_late", answered)
        found = of_rejections(evidence)
        monkeypatch.setattr(LogOrder, "_make_late", lambda *_: True)

        assert found == of_rejections(evidence), (operations, log)

    assert 0 < sum(answers) < len(answers) - 500


@pytest.mark.parametrize(("called", "is_late"), [(3, False), (4, True)])
def test_a_read_of_what_had_been_replaced_by_the_refusal_of_an_older_token(
    called: int, is_late: bool
) -> None:
    operations = renumbered(
        [
            Op(index=0, process=0, f="write", resource="r0", called=0, returned=1, outcome=Outcome.OK, token=1, value="a"),
            Op(index=1, process=1, f="write", resource="r0", called=0, token=3, value="b"),
            Op(index=2, process=2, f="write", resource="r0", called=2, returned=3, outcome=Outcome.FAIL, token=2, value="c", error="stale"),
            Op(index=3, process=3, f="read", resource="r0", called=called, returned=5, outcome=Outcome.OK, token=1, value="a"),
        ]
    )  # fmt: skip

    found = of_rejections(gather(history_of(operations), committed([operations[0], operations[1]])))

    assert bool(found) == is_late
