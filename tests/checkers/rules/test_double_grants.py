"""Double grants: two clients held the lock at once, and nothing that was recorded explains it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.history.records import FaultEvent, Header, History, Op, Outcome
from checkers.rules.double_grants import double_grants
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.support.grants import acquire, locks

FIRST, SECOND = (
    replace(acquire(0, "a", 0, called=0, returned=5), token=None),
    replace(acquire(1, "b", 0, called=10, returned=16), token=None),
)
RELEASE = replace(FIRST, index=2, f="release", called=50, returned=51)


def fault(began: int, healed: int) -> tuple[FaultEvent, FaultEvent]:
    event = FaultEvent(time=began, kind="pause", target="client:7", state="in force", evidence="")
    return event, replace(event, time=healed, state="healed")


def judged(*faults: FaultEvent) -> tuple[Validity, dict[str, int], tuple[str, ...], tuple[str, ...]]:
    header = Header(target="test", fenced=False, require={"stale_writes_attempted": 0})
    verdict = judge(History(header=header, operations=(FIRST, SECOND, RELEASE), faults=faults))
    return verdict.validity, dict(verdict.anomalies), verdict.reasons, verdict.notices


def test_a_run_with_two_holders_and_no_promise_is_never_valid() -> None:
    validity, anomalies, reasons, _ = judged()

    assert (validity, anomalies["double-grant"]) == (Validity.UNKNOWN, 1)
    assert reasons == ("the lock was held by two clients at once, without a promised lease (double-grant)",)


@pytest.mark.parametrize(
    ("called", "ended"), [(10, "the session of an unknown client"), (5, "one of their sessions")]
)
def test_of_two_grants_in_flight_together_either_session_may_have_ended(called: int, ended: str) -> None:
    header = Header(target="test", fenced=False, require={"stale_writes_attempted": 0})
    operations = FIRST, replace(SECOND, called=called), RELEASE
    (finding,) = judge(History(header=header, operations=operations)).counted

    assert f"unless {ended} had ended" in finding.steps[-1]


def test_a_double_grant_does_not_deny_the_lease_of_one_of_the_two() -> None:
    header = Header(target="test", fenced=False, require={"stale_writes_attempted": 0})
    operations = replace(FIRST, ttl=40), SECOND, RELEASE
    (finding,) = judge(History(header=header, operations=operations)).counted

    assert finding.account.summary.endswith("at least one of them without a promised lease")


def test_with_a_fault_in_force_it_is_counted_and_said() -> None:
    validity, anomalies, reasons, notices = judged(*fault(8, 9))

    assert (validity, anomalies["double-grant"], anomalies["double-belief"], reasons) == (
        Validity.VALID,
        0,
        1,
        (),
    )
    assert any(
        "once, two clients held the lock at once, without a promised lease" in each for each in notices
    )


@pytest.mark.parametrize(("began", "healed", "number"), [(0, 0, 0), (16, 20, 0), (17, 20, 1), (-9, -1, 1)])
def test_no_fault_was_in_force_from_the_earlier_call_to_the_later_return(
    began: int, healed: int, number: int
) -> None:
    evidence = locks(FIRST, SECOND)
    history = replace(evidence.history, faults=fault(began, healed))

    assert len(list(double_grants(replace(evidence, history=history)))) == number


@pytest.mark.parametrize("owner", ["a", "b"])
@pytest.mark.parametrize("end", ["release", "revoke"])
@pytest.mark.parametrize(("called", "number"), [(16, 0), (17, 1)])
def test_an_end_that_was_called_for_by_then_explains_it(
    owner: str, end: str, called: int, number: int
) -> None:
    ended = replace(FIRST, index=2, owner=owner, f=end, called=called, returned=90, outcome=Outcome.FAIL)

    assert len(list(double_grants(locks(FIRST, SECOND, ended)))) == number


@pytest.mark.parametrize(("returned", "number"), [(16, 0), (17, 1)])
def test_a_refused_renewal_explains_it(returned: int, number: int) -> None:
    refused = replace(FIRST, index=2, f="renew", called=6, returned=returned, outcome=Outcome.FAIL)

    assert len(list(double_grants(locks(FIRST, refused, SECOND)))) == number


@pytest.mark.parametrize("learned", [14, None])
@pytest.mark.parametrize("of", ["owner", "process"])
def test_a_call_without_an_answer_explains_it(learned: int | None, of: str) -> None:
    lost = Op(
        index=2,
        process=FIRST.process if of == "process" else 77,
        f="write" if of == "process" else "renew",
        resource="r0",
        owner="a" if of == "owner" else None,
        called=8,
        learned=learned,
        value="x",
    )

    assert list(double_grants(locks(FIRST, lost, SECOND))) == []


@pytest.mark.parametrize(
    ("first", "second", "number"), [(20, None, 1), (16, None, 0), (None, 9, 1), (20, 9, 0)]
)
def test_one_of_the_two_has_no_promise_and_the_other_s_is_not_over(
    first: int | None, second: int | None, number: int
) -> None:
    evidence = locks(replace(FIRST, ttl=first), replace(SECOND, ttl=second))

    assert len(list(double_grants(evidence))) == number
