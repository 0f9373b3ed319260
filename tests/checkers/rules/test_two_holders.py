"""Double grants, double beliefs and early grants: at the boundaries of holds, leases and faults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts.leases import lease_of
from checkers.history.records import FaultEvent, Header, History, Op, Outcome
from checkers.rules.double_beliefs import double_beliefs
from checkers.rules.double_grants import double_grants
from checkers.rules.early_grants import early_grants
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.support.brute_force import operation
from tests.support.lock_requests import acquire, fault, locks

FIRST, SECOND = (
    replace(acquire(0, "a", 0, called=0, returned=5), token=None),
    replace(acquire(1, "b", 0, called=10, returned=16), token=None),
)
RELEASE = replace(FIRST, index=2, f="release", called=50, returned=51)


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
    validity, anomalies, reasons, notices = judged(*fault("client:7", 8, 9))

    assert (validity, anomalies["double-grant"], anomalies["double-belief"], reasons) == (
        Validity.VALID,
        0,
        1,
        (),
    )
    assert any(
        "once, two clients held the lock at once, without a promised lease" in each for each in notices
    )


@pytest.mark.parametrize(("kind", "number"), [("pause", 1), ("stop", 0)])
def test_a_belief_ends_with_the_process_of_a_client_that_was_stopped(kind: str, number: int) -> None:
    header = Header(target="test", fenced=False, clients=2, require={"stale_writes_attempted": 0})
    events = tuple(fault("client:0", 6, 9, kind))
    verdict = judge(History(header=header, operations=(FIRST, SECOND), faults=events))

    assert verdict.anomalies["double-belief"] == number


@pytest.mark.parametrize(("began", "healed", "number"), [(0, 0, 0), (16, 20, 0), (17, 20, 1), (-9, -1, 1)])
def test_no_fault_was_in_force_from_the_earlier_call_to_the_later_return(
    began: int, healed: int, number: int
) -> None:
    evidence = locks(FIRST, SECOND)
    history = replace(evidence.history, faults=tuple(fault("client:7", began, healed)))

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
    f, process, owner = ("write", FIRST.process, None) if of == "process" else ("renew", 77, "a")
    lost = operation(f, process, 8, learned, "info", index=2, owner=owner, value="x")

    assert list(double_grants(locks(FIRST, lost, SECOND))) == []


@pytest.mark.parametrize(
    ("first", "second", "number"), [(20, None, 1), (16, None, 0), (None, 9, 1), (20, 9, 0)]
)
def test_one_of_the_two_has_no_promise_and_the_other_s_is_not_over(
    first: int | None, second: int | None, number: int
) -> None:
    evidence = locks(replace(FIRST, ttl=first), replace(SECOND, ttl=second))

    assert len(list(double_grants(evidence))) == number


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_belief_ends_with_the_call_of_the_release(end: str) -> None:
    grant = acquire(0, "a", token=1, called=0, returned=1)
    given_back = replace(grant, index=1, f=end, token=None, called=5, returned=9)
    during = acquire(2, "b", token=2, called=2, returned=4)
    after = acquire(2, "b", token=2, called=2, returned=6)

    assert [each.accused for each in double_beliefs(locks(grant, given_back, during))] == [during]
    assert list(double_beliefs(locks(grant, given_back, after))) == []


def test_of_two_beliefs_the_later_one_is_reported_with_the_other() -> None:
    one = acquire(0, "a", token=1, called=0, returned=1)
    other = acquire(1, "b", token=2, called=0, returned=0)
    release = replace(other, index=2, f="release", token=None, called=2, returned=3)

    (conflict,) = double_beliefs(locks(one, other, release))

    assert (conflict.accused, conflict.because) == (one, (other,))


def test_belief_lasts_until_a_release_at_time_1() -> None:
    one = acquire(0, "a", token=1, called=0, returned=0)
    other = acquire(1, "b", token=2, called=0, returned=0)
    release = replace(one, index=2, f="release", token=None, called=1, returned=3)

    assert [each.accused for each in double_beliefs(locks(one, other, release))] == [other]


def test_belief_may_end_at_time_0() -> None:
    grant = acquire(0, "a", token=1, called=0, returned=0)
    lost = replace(grant, index=1, f="renew", token=None, outcome=Outcome.FAIL)
    other = acquire(2, "b", token=2, called=0, returned=0)

    assert list(double_beliefs(locks(grant, lost, other))) == []


def test_a_belief_that_was_over_before_the_grant_returned_is_none() -> None:
    first = acquire(0, "a", 1, called=1, returned=2)
    second = acquire(1, "b", 2, called=3, returned=10)
    given_up = replace(second, index=2, f="revoke", called=5, returned=6)

    assert list(double_beliefs(locks(first, second, given_up))) == []


@pytest.mark.parametrize(("sent", "accused"), [(10, [(1, 0)]), (11, [(1, 0), (2, 1)])])
def test_a_grant_sent_after_the_other_returned_is_the_later_one(
    sent: int, accused: list[tuple[int, int]]
) -> None:
    evidence = locks(
        acquire(0, "b", token=3, called=0, returned=5, ttl=100),
        acquire(1, "a", token=5, called=1, returned=10, ttl=50),
        acquire(2, "b", token=4, called=sent, returned=20),
    )

    assert [(each.accused.index, each.because[0].index) for each in early_grants(evidence)] == accused


def test_a_shorter_lease_counts_too_up_to_its_end() -> None:
    def early(ttl: int) -> list[int]:
        evidence = locks(
            acquire(0, "b", token=3, called=0, returned=5, ttl=100),
            acquire(1, "a", token=5, called=1, returned=10, ttl=ttl),
            acquire(2, "b", token=4, called=11, returned=20),
        )
        return [each.accused.index for each in early_grants(evidence)]

    assert early(ttl=19) == [1]
    assert early(ttl=20) == [1, 2]


def in_flight_together(*tokens: int | None, attempts: tuple[int | None, ...] = (None, None)) -> list[Op]:
    """Two grants, neither sent after the other had returned, each promised until 100."""
    grants = (
        acquire(0, "a", 0, called=0, returned=50, ttl=100),
        acquire(1, "b", 0, called=1, returned=60, ttl=99),
    )
    return [
        replace(grant, token=token, attempt=attempt)
        for grant, token, attempt in zip(grants, tokens, attempts, strict=True)
    ]


def test_two_grants_in_no_order_are_shown_with_what_set_their_leases() -> None:
    one, other = in_flight_together(None, None)
    renewed = [
        replace(grant, index=2 + grant.index, f="renew", called=61 + grant.index, returned=70, attempt=None)
        for grant in (one, other)
    ]

    (found,) = early_grants(locks(one, other, *renewed))

    assert (found.accused, found.because) == (other, (one, *renewed))


def test_a_hold_that_is_granted_again_is_early_once() -> None:
    holder = acquire(0, "a", token=4, called=1, returned=3, ttl=90)
    early, again = (acquire(n, "b", token=5, called=7 * n, returned=7 * n + 1, ttl=6) for n in (1, 2))
    other_hold = replace(again, index=3, token=6, called=30, returned=31)

    assert [each.accused.index for each in early_grants(locks(holder, early, again, other_hold))] == [1, 3]


@pytest.mark.parametrize("tokens", [(None, None), (None, 1), (1, None)])
@pytest.mark.parametrize("attempts", [(None, None), (40, 45), (None, 50)])
def test_of_two_grants_in_no_order_one_is_early(
    tokens: tuple[int | None, ...], attempts: tuple[int | None, ...]
) -> None:
    grants = in_flight_together(*tokens, attempts=attempts)

    (found,) = early_grants(locks(*grants))

    assert (found.breach.rule, found.accused, found.because[:1]) == ("both-promised", grants[1], (grants[0],))


@pytest.mark.parametrize("token", [0, 2])
def test_of_two_grants_with_one_token_neither_is_early(token: int) -> None:
    assert not list(early_grants(locks(*in_flight_together(token, token))))


def test_tokens_that_cannot_be_trusted_order_no_two_grants() -> None:
    regressed = [acquire(2, "c", 9, called=200, returned=201), acquire(3, "d", 8, called=210, returned=211)]

    (by_token,) = early_grants(locks(*in_flight_together(2, 1)))
    (by_both,) = early_grants(locks(*in_flight_together(2, 1), *regressed))

    assert (by_token.breach.rule, by_token.accused.index) == ("promised-by-tokens", 0)
    assert (by_both.breach.rule, by_both.accused.index) == ("both-promised", 1)


@pytest.mark.parametrize("tokens", [(2, 1), (1, 2)])
@pytest.mark.parametrize(
    ("lower", "why"),
    [
        (
            8,
            "process 3 was granted the lock with token 8 at 0.211 µs (line 9), and token 9 had been granted before",
        ),
        (
            9,
            "process 3 was granted the lock with token 9 at 0.211 µs (line 9), and another owner had that token, too",
        ),
    ],
)
def test_what_makes_tokens_useless_is_shown_with_grants_in_no_order(
    tokens: tuple[int, int], lower: int, why: str
) -> None:
    regressed = [
        acquire(2, "c", 9, called=200, returned=201),
        acquire(3, "d", lower, called=210, returned=211),
    ]
    grants = (*in_flight_together(*tokens), *regressed)
    verdict = judge(
        locks(
            *(replace(each, lines=(2 + each.index, 6 + each.index), learned=each.returned) for each in grants)
        ).history
    )

    (found,) = (each for each in verdict.findings if each.anomaly == "early-grant")

    assert (found.account.rule, found.accused, found.account.doubt) == ("both-promised", 1, "")
    assert f"tokens are in no order here: {why}" in found.account.steps[-2].text


@pytest.mark.parametrize(
    ("owner", "called", "number"), [("a", 60, 0), ("a", 61, 1), ("b", 50, 0), ("b", 51, 1)]
)
def test_a_release_before_the_other_grant_returned_explains_an_order(
    owner: str, called: int, number: int
) -> None:
    grants = in_flight_together(None, None)
    release = replace(grants[0], index=2, owner=owner, f="release", ttl=None, called=called, returned=70)

    assert len(list(early_grants(locks(*grants, release)))) == number


def test_a_promise_is_proved_only_by_the_renewal_that_made_it() -> None:
    grant = acquire(0, "a", token=1, called=0, returned=1, ttl=10)
    renew = replace(grant, index=1, f="renew", token=None, called=5, returned=6)
    early = acquire(2, "b", token=2, called=8, returned=9)
    late = acquire(2, "b", token=2, called=11, returned=12)

    (by_grant,) = early_grants(locks(grant, early))
    (by_renew,) = early_grants(locks(grant, renew, late))

    assert by_grant.because == (grant,)
    assert by_renew.because == (grant, renew)


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_a_lease_is_promised_up_to_its_end_or_until_it_is_given_back(end: str) -> None:
    grant = acquire(0, "a", token=5, called=0, returned=1, ttl=10)
    given_back = replace(grant, index=1, f=end, token=None, ttl=None, called=5, returned=6)
    before_the_end = acquire(2, "b", token=4, called=2, returned=9)
    at_the_end = acquire(2, "b", token=4, called=2, returned=10)

    assert [each.accused for each in early_grants(locks(grant, before_the_end))] == [before_the_end]
    assert list(early_grants(locks(grant, at_the_end))) == []
    assert list(early_grants(locks(grant, given_back, before_the_end))) == []


def test_a_ttl_counts_that_may_have_been_the_last_one_that_the_service_saw() -> None:
    grant = acquire(0, "a", token=1, called=0, returned=5, ttl=3)
    renew = replace(grant, index=1, f="renew", token=None, called=5, returned=6, ttl=8)
    later = replace(renew, called=6, returned=7)

    assert lease_of(grant, [grant, renew]).end == 8
    assert lease_of(grant, [grant, later]).end == 14


def test_a_lock_that_was_only_released_was_granted_to_no_one_too_early() -> None:
    assert list(early_grants(locks(RELEASE))) == []
