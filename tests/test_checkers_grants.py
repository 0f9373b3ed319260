"""Tokens of grants, against their quadratic definitions."""

from __future__ import annotations

from brute_force import renumbered
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.evidence import Evidence
from checkers.grants import duplicate_tokens, token_regressions
from checkers.records import Header, History, Op, Outcome
from checkers.reference import definitions


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


@settings(max_examples=200, deadline=None)
@given(lock_operations())
def test_duplicate_tokens_agree_with_the_definition(operations):
    found = duplicate_tokens(lock_history(operations))

    assert bool(list(found)) == bool(definitions.duplicate_tokens(operations))


@settings(max_examples=300, deadline=None)
@given(lock_operations())
def test_token_regressions_agree_with_the_definition(operations):
    found = token_regressions(lock_history(operations))

    assert {each.accused.index for each in found} == definitions.token_regressions(operations)


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
