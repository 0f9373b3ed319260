"""Tokens of grants, against their quadratic definitions."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.evidence import Evidence
from checkers.grants import duplicate_tokens, token_regressions
from checkers.records import Header, History, Op, Outcome


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
    return sorted(operations, key=lambda op: op.called)


def grants_of(operations: list[Op]) -> list[Op]:
    return [op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK]


@settings(max_examples=300, deadline=None)
@given(lock_operations())
def test_duplicate_tokens_agree_with_the_definition(operations):
    wrong = any(
        one.token == other.token and one.owner != other.owner
        for one, other in itertools.combinations(grants_of(operations), 2)
    )

    assert bool(list(duplicate_tokens(lock_history(operations)))) == wrong


@settings(max_examples=500, deadline=None)
@given(lock_operations())
def test_token_regressions_agree_with_the_definition(operations):
    ended = [op for op in operations if op.f == "release" and op.outcome is Outcome.OK]

    def one_hold(earlier: Op, later: Op) -> bool:
        return earlier.owner == later.owner and not any(
            earlier.returned < end.called and end.returned < later.sent
            for end in ended
            if end.owner == earlier.owner
        )

    wrong = {
        later.sent * 100 + later.index
        for earlier, later in itertools.permutations(grants_of(operations), 2)
        if earlier.returned < later.sent and later.token <= earlier.token and not one_hold(earlier, later)
    }

    found = {
        each.accused.sent * 100 + each.accused.index for each in token_regressions(lock_history(operations))
    }
    assert found == wrong


def test_tokens_of_different_resources_have_nothing_to_do_with_each_other():
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
