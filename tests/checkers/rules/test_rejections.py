"""Had a rejection a cause? Each history differs from one that is judged otherwise by one moment or token."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.explain.conflict import Breach
from checkers.history.records import Op
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.rejections import NO_CAUSE
from tests.support.brute_force import fenced, read, write
from tests.support.conflicts import seen

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


def test_of_a_token_that_was_accepted_another_use_was_no_cause() -> None:
    refused, lost, accepted = write(1, 1, 2, 3, "stale"), write(0, 2, 0, 1, "info"), write(2, 2, 5, 6)

    assert judged(refused, lost, accepted) == [FALSE]
    assert judged(refused, lost, accepted, policy="inclusive") == []


def test_a_rejections_proof_is_compared_with_each_later_value() -> None:
    lost, refused = write(0, 9, 0, 1, "info"), write(1, 5, 2, 3, "stale")
    first, second = write(2, 3, 4, 5), write(3, 4, 6, 7)

    assert seen(lost, refused, first, second) == [
        ("non-linearizable", FALSE_OR_STALE, 2, [1]),
        ("non-linearizable", FALSE_OR_STALE, 3, [1]),
    ]


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
