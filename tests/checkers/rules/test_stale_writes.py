"""Stale writes and reads: literal histories, conflict by conflict, by what clients saw and by the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.evidence import gather
from checkers.history.records import Commit, Header, Op
from checkers.rules.registers import observed, resolved
from checkers.rules.stale_reads import WENT_BACK
from checkers.rules.stale_writes.by_clients import SAME_TOKEN_TWICE, SEEN_AFTER_NEWER
from checkers.rules.stale_writes.by_log import LOGGED_AFTER_NEWER, in_log
from checkers.rules.stale_writes.story import BELOW_THE_START, SENT_AFTER_NEWER
from tests.support.brute_force import fenced, history_of, read, renumbered, write
from tests.support.in_columns import Summary, seen, summary_of


def test_a_refused_write_that_took_effect_after_a_newer_one_is_stale_too() -> None:
    refused, newer, its_read = write(0, 1, 1, 4, "stale"), write(1, 2, 2, 3), read(2, ("v0", 1), 6, 7)

    found = seen(refused, newer, its_read, policy="inclusive")

    assert {(name, accused) for name, _, accused, _ in found} == {("ghost-write", 0), ("stale-write", 0)}


def test_a_timed_out_write_that_was_read_is_held_to_its_place() -> None:
    # Testing only ok writes misses it: the newer write was accepted before the older was called.
    found = seen(write(0, 2, 1, 3), read(1, ("v2", 1), 2, 5), write(2, 1, 4, 0, "info"))

    assert found == [("stale-write", SENT_AFTER_NEWER, 2, [0])]


IN_FLIGHT, NEWER = write(0, 3, 50, 105), write(1, 6, 90, 108)


def found_of(*reads_and_others: Op) -> list[tuple[str, str | None]]:
    return [(anomaly, breach.rule) for anomaly, breach, *_ in seen(IN_FLIGHT, NEWER, *reads_and_others)]


@pytest.mark.parametrize("in_flight", [IN_FLIGHT, write(0, 3, 50, 0, "info")])
def test_a_write_in_flight_that_every_later_read_returns_is_stale(in_flight: Op) -> None:
    reads = [read(2, ("v0", 3), 110, 120), read(3, ("v0", 3), 130, 140)]

    assert seen(in_flight, NEWER, *reads) == [("stale-write", SEEN_AFTER_NEWER, 0, [1, 3])]


@pytest.mark.parametrize(
    "other",
    [
        read(3, ("v1", 6), 130, 140),  # it came back
        write(3, 4, 106, 115),  # it came later, and before the newer one by its token
    ],
)
def test_a_read_of_a_write_in_flight_that_did_not_come_last_is_stale(other: Op) -> None:
    assert found_of(read(2, ("v0", 3), 110, 120), other) == [("stale-read", "older-than-accepted")]


def test_without_a_fence_an_equal_token_is_no_stale_write() -> None:
    assert seen(write(0, 2, 0, 1), write(1, 2, 2, 3), fenced=False, policy="inclusive") == []


def test_without_a_fence_a_write_that_was_seen_after_a_newer_one_is_stale() -> None:
    found = seen(
        write(0, 1, 0, 1),
        write(1, 2, 2, 20),
        write(2, 3, 3, 4),
        read(3, ("v1", 2), 5, 6),
        fenced=False,
    )

    assert found == [("stale-write", SEEN_AFTER_NEWER, 1, [2, 3])]


def test_of_newer_writes_one_that_had_returned_before_the_read_is_shown() -> None:
    found = seen(
        write(0, 2, 0, 30),
        write(1, 3, 1, 10),
        write(2, 3, 2, 5),
        read(3, ("v0", 2), 10, 12),
        fenced=False,
        policy="inclusive",
    )

    assert found == [("stale-write", SEEN_AFTER_NEWER, 0, [2, 3])]


@pytest.mark.parametrize(("policy", "is_stale"), [("strict", True), ("inclusive", False)])
def test_an_equal_token_is_stale_only_to_a_strict_fence(policy: str, *, is_stale: bool) -> None:
    found = seen(write(0, 5, 0, 1), write(1, 5, 2, 3), policy=policy)

    assert found == ([("stale-write", SENT_AFTER_NEWER, 1, [0])] if is_stale else [])


@pytest.mark.parametrize(("policy", "token"), [("strict", 3), ("strict", 2), ("inclusive", 2)])
def test_a_write_below_the_initial_token_is_stale_without_another(policy: str, token: int) -> None:
    found = seen(write(0, token, 0, 1), policy=policy, initial={"token": 3})

    assert found == [("stale-write", BELOW_THE_START, 0, [])]


def test_of_concurrent_writes_with_one_token_a_strict_fence_accepts_one() -> None:
    one, other, lower = write(1, 5, 1, 9), write(2, 5, 2, 8), write(0, 4, 0, 9)

    assert seen(one, other) == [("stale-write", SAME_TOKEN_TWICE, 1, [0])]
    assert seen(lower, one, other) == [("stale-write", SAME_TOKEN_TWICE, 2, [1])]


def test_a_second_use_of_a_token_may_not_be_read_after_the_first_was() -> None:
    reads = [read(2, ("v0", 5), 21, 22), read(3, ("v1", 5), 23, 24)]

    assert seen(write(0, 5, 0, 20), write(1, 5, 1, 20), *reads) == [
        ("stale-write", SAME_TOKEN_TWICE, 1, [0, 3]),
        ("non-linearizable", WENT_BACK, 3, [1, 2, 0]),
    ]


def test_of_writes_with_one_token_the_one_read_first_came_first() -> None:
    found = seen(write(0, 5, 0, 20), write(1, 5, 1, 20), read(2, ("v1", 5), 2, 3), read(3, ("v0", 5), 4, 5))

    assert found[0] == ("stale-write", SAME_TOKEN_TWICE, 0, [1, 2, 3])


def logged(*operations: Op, log: Sequence[Op], **header: object) -> list[Summary]:
    """Stale writes after fences that are not logged."""
    history = replace(history_of(renumbered(operations)), header=Header(target="t", **header))
    commits = [
        Commit(seq=seq, resource=each.resource, token=each.token, value=each.value)
        for seq, each in enumerate(log)
    ]
    return [summary_of(each) for each in resolved(gather(history, commits)) if each.anomaly == "stale-write"]


@pytest.mark.parametrize(
    ("policy", "token", "is_stale"),
    [
        ("strict", 4, True),
        ("strict", 5, True),
        ("strict", 6, False),
        ("inclusive", 4, True),
        ("inclusive", 5, False),
    ],
)
def test_a_write_sent_after_an_acknowledged_fence_is_stale(
    policy: str, token: int, *, is_stale: bool
) -> None:
    late = write(1, token, 2, 3)

    found = logged(fenced(write(0, 5, 0, 1)), late, log=[late], policy=policy)

    assert found == ([("stale-write", SENT_AFTER_NEWER, 1, [0])] if is_stale else [])


def test_a_write_that_was_sent_before_the_fence_returned_is_not_stale() -> None:
    early = write(1, 4, 1, 3)

    assert logged(fenced(write(0, 5, 0, 2)), early, log=[early]) == []


def test_a_write_with_the_lowest_token_is_stale_after_a_fence_with_it() -> None:
    fence, late = fenced(write(0, 0, 0, 1)), write(1, 0, 2, 3)

    assert logged(fence, late, log=[late]) == [("stale-write", SENT_AFTER_NEWER, 1, [0])]


def test_what_was_sent_after_a_fence_shows_that_a_later_write_is_stale() -> None:
    early, later = write(1, 4, 1, 9), write(2, 6, 3, 4)

    found = logged(fenced(write(0, 5, 0, 2)), early, later, log=[later, early])

    assert found == [("stale-write", SENT_AFTER_NEWER, 1, [0, 2])]


def commits(*tokens: int, fences: Sequence[int] = ()) -> list[Commit]:
    return [
        Commit(
            seq=seq,
            resource="r0",
            token=token,
            fence=seq in fences,
            value=None if seq in fences else f"v{seq}",
        )
        for seq, token in enumerate(tokens)
    ]


def stale(log: Sequence[Commit], **header: object) -> list[Summary]:
    sent = [write(each.seq, each.token or 0, 2 * each.seq, 2 * each.seq + 1) for each in log]
    sent = [
        replace(op, f="fence", value=None) if each.fence else op for op, each in zip(sent, log, strict=True)
    ]
    history = replace(history_of(renumbered(sent)), header=Header(target="t", **header))
    return [summary_of(each) for each in in_log(gather(history, list(log)))]


@pytest.mark.parametrize(
    ("policy", "token", "is_stale"),
    [
        ("strict", 4, True),
        ("strict", 5, True),
        ("strict", 6, False),
        ("inclusive", 4, True),
        ("inclusive", 5, False),
    ],
)
def test_the_initial_token_is_the_first_mark(policy: str, token: int, *, is_stale: bool) -> None:
    found = stale(commits(token), policy=policy, initial_token=5)

    assert found == ([("stale-write", BELOW_THE_START, 0, [])] if is_stale else [])


def test_the_newer_write_is_the_one_that_raised_the_mark() -> None:
    assert stale(commits(5, 3, 2)) == [
        ("stale-write", LOGGED_AFTER_NEWER, 1, [0]),
        ("stale-write", LOGGED_AFTER_NEWER, 2, [0]),
    ]


@pytest.mark.parametrize(("policy", "is_stale"), [("strict", True), ("inclusive", False)])
def test_an_equal_token_in_the_log_is_stale_only_to_a_strict_fence(policy: str, *, is_stale: bool) -> None:
    found = stale(commits(5, 5), policy=policy)

    assert found == ([("stale-write", LOGGED_AFTER_NEWER, 1, [0])] if is_stale else [])


def test_token_0_is_stale_in_the_log_only_after_a_higher_one() -> None:
    assert stale(commits(0), policy="inclusive") == []
    assert stale(commits(5, 0), policy="inclusive") == [("stale-write", LOGGED_AFTER_NEWER, 1, [0])]


def bare(op: Op) -> Op:
    return replace(op, token=None)


def of_first_register(*operations: Op, strict: bool = True, fenced: bool = True) -> list[Summary]:
    """What is found next to another register that is certainly wrong."""
    newer, older = (replace(op, resource="r1") for op in (write(90, 2, 90, 91), write(91, 1, 92, 93)))
    history = history_of(renumbered([*operations, newer, older]), strict=strict, fenced=fenced)
    *found, _ = observed(gather(history))
    assert {each.accused.resource for each in found} <= {"r0"}
    return [summary_of(each) for each in found]


def accused(*operations: Op, strict: bool = True, fenced: bool = True) -> list[tuple[str, int]]:
    found = of_first_register(*operations, strict=strict, fenced=fenced)
    return [(anomaly, index) for anomaly, _, index, _ in found]


def test_a_value_without_a_token_is_older_than_none() -> None:
    newer, without, later = write(0, 1, 0, 1), bare(write(1, 0, 2, 3)), bare(read(2, ("v1", 0), 4, 5))

    assert of_first_register(newer, without, later) == []


def test_a_value_without_a_token_comes_back_after_a_fenced_write() -> None:
    without, newer = bare(write(0, 0, 0, 1)), write(1, 1, 2, 4)
    during, after = bare(read(2, ("v0", 0), 4, 5)), bare(read(3, ("v0", 0), 5, 6))

    assert of_first_register(without, newer, during) == []
    assert accused(without, newer, during, after) == [("stale-read", 3)]


def test_two_writes_at_once_contradict_each_other_if_both_are_read_later() -> None:
    one, other = write(0, 1, 0, 2), write(1, 1, 0, 2)
    of_one, of_other = read(2, ("v0", 1), 3, 4), read(3, ("v1", 1), 3, 4)

    for is_fenced in (True, False):
        assert of_first_register(one, other, of_one, strict=False, fenced=is_fenced) == []
        assert accused(one, other, of_one, of_other, strict=False, fenced=is_fenced) == [
            ("non-linearizable", 2)
        ]


def test_a_value_may_be_read_until_the_next_one_was_surely_there() -> None:
    first, second = write(0, 1, 0, 1), write(1, 1, 2, 3)

    for is_fenced in (True, False):
        assert (
            of_first_register(first, second, read(2, ("v0", 1), 3, 4), strict=False, fenced=is_fenced) == []
        )
        assert accused(first, second, read(2, ("v0", 1), 4, 5), strict=False, fenced=is_fenced) == [
            ("non-linearizable", 2)
        ]
