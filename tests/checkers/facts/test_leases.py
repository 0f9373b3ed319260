"""Early grants, double beliefs and double grants, against their quadratic pairwise."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.facts.evidence import Evidence
from checkers.history.records import FaultEvent, Header, History, Op, Outcome
from checkers.rules.double_beliefs import double_beliefs
from checkers.rules.double_grants import double_grants
from checkers.rules.early_grants import early_grants
from tests.oracles import pairwise
from tests.support.brute_force import renumbered
from tests.support.examples import examples


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
    return list(renumbered(operations))


@settings(max_examples=examples(400), deadline=None)
@given(lock_operations())
def test_early_grants_agree_with_the_definition(operations: list[Op]) -> None:
    found = early_grants(lock_history(operations))

    assert {each.accused.index for each in found} == pairwise.early_grants(operations)


@settings(max_examples=examples(200), deadline=None)
@given(lock_operations())
def test_double_beliefs_agree_with_the_definition(operations: list[Op]) -> None:
    found = double_beliefs(lock_history(operations))

    assert {each.accused.index for each in found} == pairwise.double_beliefs(operations)


@settings(max_examples=examples(400), deadline=None)
@given(lock_operations(), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=2))
def test_double_grants_agree_with_the_definition(operations: list[Op], faults: list[tuple[int, int]]) -> None:
    operations = [replace(op, process=op.index % 4) for op in operations]
    spans = [(began, began + length) for began, length in faults]
    evidence = lock_history(operations)
    history = replace(evidence.history, faults=tuple(events_of(spans)))

    found = double_grants(replace(evidence, history=history))

    assert {each.accused.index for each in found} == pairwise.double_grants(operations, spans)


def events_of(spans: list[tuple[int, int]]) -> list[FaultEvent]:
    """Each fault of a kind of its own: others of one kind and target would be joined in another way."""
    events = [
        FaultEvent(time=time, kind=f"kind-{number}", target="lock", state=state, evidence="")
        for number, span in enumerate(spans)
        for time, state in zip(span, ("in force", "healed"), strict=True)
    ]
    return sorted(events, key=lambda event: event.time)


def test_a_release_that_returned_at_the_acquire_may_be_of_either_hold() -> None:
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


def test_a_session_that_was_renewed_before_the_acquire_is_promised_too() -> None:
    renew = Op(
        index=0,
        process=0,
        f="renew",
        resource="r0",
        owner="a",
        called=1,
        returned=2,
        outcome=Outcome.OK,
        ttl=80,
    )
    acquire = replace(renew, index=1, process=1, f="acquire", called=5, returned=6, token=1, ttl=None)
    other = replace(acquire, index=2, process=2, owner="b", called=6, returned=7, token=2)

    assert [each.accused.index for each in early_grants(lock_history([renew, acquire, other]))] == [2]

    shorter = replace(renew, returned=4, ttl=1)
    leased = replace(acquire, called=2, returned=5, ttl=8)

    assert not list(early_grants(lock_history([shorter, leased, other])))
