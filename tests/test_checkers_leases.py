"""Early grants and double beliefs, against their quadratic definitions."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.evidence import Evidence
from checkers.leases import double_beliefs, early_grants
from checkers.records import Header, History, Op, Outcome


def lock_history(operations: list[Op]) -> Evidence:
    return Evidence(history=History(header=Header(target="test"), operations=tuple(operations)))


@st.composite
def lock_operations(draw: st.DrawFn) -> list[Op]:
    """Acquires, renews and releases of a few owners, of every outcome, with ties in time."""
    operations = []
    for index in range(draw(st.integers(2, 9))):
        called, returned = sorted((draw(st.integers(0, 30)), draw(st.integers(0, 30))))
        f = draw(st.sampled_from(["acquire", "acquire", "renew", "renew", "release", "revoke"]))
        outcome = draw(st.sampled_from([Outcome.OK, Outcome.OK, Outcome.FAIL, Outcome.INFO]))
        granted = f == "acquire" and outcome is Outcome.OK
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
                token=draw(st.integers(0, 5)) if granted else None,
                ttl=draw(st.sampled_from([None, 3, 8])) if f in {"acquire", "renew"} else None,
                attempt=draw(st.none() | st.integers(called, returned)) if granted else None,
            )
        )
    return sorted(operations, key=lambda op: op.called)


def end_of(grant: Op, operations: list[Op]) -> float:
    """The definition, word by word."""
    setters = [grant]
    setters += [
        op
        for op in operations
        if op.f == "renew" and op.owner == grant.owner and op.outcome is not Outcome.FAIL
    ]
    starts = [op.sent for op in setters if op.outcome is Outcome.OK and op.ttl is not None]
    if not starts:
        return -math.inf
    latest = max(starts)
    ttls = [
        op.ttl
        for op in setters
        if op.ttl is not None and not (op.returned is not None and op.returned < latest)
    ]
    cuts = [
        op.called
        for op in operations
        if op.f in {"release", "revoke"}
        and op.owner == grant.owner
        and not (op.returned is not None and op.returned < grant.called)
    ]
    return min([latest + min(ttls), *cuts])


@settings(max_examples=1000, deadline=None)
@given(lock_operations())
def test_early_grants_agree_with_the_definition(operations):
    grants = [op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK]
    early = {
        b.index
        for a, b in itertools.permutations(grants, 2)
        if a.owner != b.owner
        and b.returned < end_of(a, operations)
        # token order counts unless real time says the opposite: that is a token-regression
        and (b.sent > a.returned or (b.token > a.token and not b.returned < a.sent))
    }

    assert {each.accused.index for each in early_grants(lock_history(operations))} == early


@settings(max_examples=500, deadline=None)
@given(lock_operations())
def test_double_beliefs_agree_with_the_definition(operations):
    grants = [op for op in operations if op.f == "acquire" and op.outcome is Outcome.OK]

    def believes_until(grant: Op) -> float:
        told = [
            op.called
            for op in operations
            if op.f in {"release", "revoke"}
            and op.owner == grant.owner
            and not (op.returned is not None and op.returned < grant.called)
        ]
        told += [
            max(op.returned, grant.returned)
            for op in operations
            if op.f == "renew" and op.owner == grant.owner and op.outcome is Outcome.FAIL
        ]
        return min(told, default=math.inf)

    ordered = sorted(grants, key=lambda op: op.returned)
    double = {
        later.index
        for earlier, later in itertools.combinations(ordered, 2)
        if earlier.owner != later.owner and believes_until(earlier) > later.returned
    }

    assert {each.accused.index for each in double_beliefs(lock_history(operations))} == double


def test_a_release_that_returned_as_the_acquire_was_called_may_be_of_either_hold():
    def op(index: int, f: str, called: int, returned: int, owner: str, token: int | None = None) -> Op:
        return Op(
            index=index,
            process=index,
            f=f,
            resource="r0",
            called=called,
            returned=returned,
            outcome=Outcome.OK,
            owner=owner,
            token=token,
            ttl=100 if token else None,
        )

    def counts(second: int) -> tuple[int, int]:
        evidence = lock_history(
            [
                op(0, "acquire", 0, 1, "a", 1),
                op(1, "release", 2, 4, "a"),
                op(2, "acquire", second, 6, "a", 2),
                op(3, "acquire", 7, 8, "b", 3),
            ]
        )
        return len(list(early_grants(evidence))), len(list(double_beliefs(evidence)))

    assert counts(second=4) == (0, 0)
    assert counts(second=5) == (1, 1)
