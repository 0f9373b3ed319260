"""Tokens of grants, against their quadratic pairwise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.facts.evidence import Evidence
from checkers.history.records import Header, History, Op, Outcome
from checkers.rules.tokens import duplicate_tokens, token_regressions
from tests.oracles import pairwise
from tests.support.brute_force import renumbered
from tests.support.examples import examples
from tests.support.grants import acquire, locks


def lock_history(operations: list[Op]) -> Evidence:
    return Evidence(history=History(header=Header(target="test"), operations=tuple(operations)))


@st.composite
def lock_operations(draw: st.DrawFn) -> list[Op]:
    """Acquires of a few owners, some re-entrant, with releases between; few tokens, ties in time."""
    operations = []
    for index in range(draw(st.integers(2, 8))):
        called, returned = sorted((draw(st.integers(0, 20)), draw(st.integers(0, 20))))
        f = draw(st.sampled_from(["acquire", "acquire", "acquire", "release"]))
        outcome = draw(st.sampled_from([Outcome.OK, Outcome.OK, Outcome.OK, Outcome.FAIL, Outcome.INFO]))
        operations.append(
            Op(
                index=index,
                process=index,
                f=f,
                resource="r0",
                called=called,
                returned=None if outcome is Outcome.INFO else returned,
                outcome=outcome,
                owner=draw(st.sampled_from("abc")),
                token=draw(st.integers(0, 3)) if f == "acquire" and outcome is Outcome.OK else None,
                attempt=draw(st.none() | st.integers(called, returned)),
            )
        )
    return list(renumbered(operations))


@settings(max_examples=examples(200), deadline=None)
@given(lock_operations())
def test_duplicate_tokens_agree_with_the_definition(operations: list[Op]) -> None:
    found = duplicate_tokens(lock_history(operations))

    assert bool(list(found)) == bool(pairwise.duplicate_tokens(operations))


@settings(max_examples=examples(300), deadline=None)
@given(lock_operations())
def test_token_regressions_agree_with_the_definition(operations: list[Op]) -> None:
    found = token_regressions(lock_history(operations))

    assert {each.accused.index for each in found} == pairwise.token_regressions(operations)


def test_tokens_of_different_resources_are_not_compared() -> None:
    def grant(index: int, resource: str, token: int) -> Op:
        return Op(
            index=index,
            process=index,
            f="acquire",
            resource=resource,
            called=10 * index,
            returned=10 * index + 1,
            outcome=Outcome.OK,
            owner=f"{index}",
            token=token,
        )

    evidence = lock_history([grant(0, "r0", 5), grant(1, "r1", 5), grant(2, "r1", 6), grant(3, "r0", 6)])

    assert not list(duplicate_tokens(evidence))
    assert not list(token_regressions(evidence))


def test_the_token_0_is_below_the_token_1() -> None:
    evidence = locks(
        acquire(0, "a", token=1, called=0, returned=1),
        acquire(1, "x", token=0, called=2, returned=3),
        acquire(2, "y", token=1, called=4, returned=5),
        acquire(3, "a", token=1, called=10, returned=11),
    )

    regressions = [(each.accused.index, each.because[0].index) for each in token_regressions(evidence)]

    assert regressions == [(1, 0), (2, 0), (3, 2)]


def test_of_two_grants_with_one_token_the_later_answered_is_accused() -> None:
    later = acquire(0, "a", token=5, called=0, returned=1)
    earlier = acquire(1, "b", token=5, called=0, returned=0)

    (conflict,) = duplicate_tokens(locks(later, earlier))

    assert (conflict.accused, conflict.because) == (later, (earlier,))


def test_touching_grants_of_one_owner_may_be_one_hold() -> None:
    first = acquire(0, "a", token=5, called=0, returned=1)
    release = replace(first, index=1, f="release", token=None, called=2, returned=4)
    again = acquire(2, "a", token=5, called=4, returned=6)
    later = acquire(2, "a", token=5, called=5, returned=6)

    assert list(token_regressions(locks(first, release, again))) == []
    assert [each.accused for each in token_regressions(locks(first, release, later))] == [later]


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_a_hold_that_was_ended_is_another_one_than_the_next(end: str) -> None:
    first = acquire(0, "a", token=5, called=0, returned=1)
    ended = replace(first, index=1, f=end, token=None, called=2, returned=3)
    again = acquire(2, "a", token=5, called=4, returned=5)

    assert [each.accused for each in token_regressions(locks(first, ended, again))] == [again]


def test_a_hold_is_not_ended_by_a_release_that_failed_or_by_an_acquire() -> None:
    first = acquire(0, "a", token=5, called=0, returned=1)
    refused = replace(first, index=1, f="release", token=None, called=2, returned=3, outcome=Outcome.FAIL)
    again = acquire(2, "a", token=5, called=4, returned=5)
    once_more = acquire(3, "a", token=5, called=7, returned=8)

    assert list(token_regressions(locks(first, refused, again, once_more))) == []
