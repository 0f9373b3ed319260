"""Early grants, at the boundaries of a lease and of the order of grants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts.leases import lease_of
from checkers.history.records import Op
from checkers.rules.early_grants import early_grants
from tests.support.grants import acquire, locks


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


@pytest.mark.parametrize("tokens", [(None, None), (None, 1), (1, None)])
@pytest.mark.parametrize("attempts", [(None, None), (40, 45), (None, 50)])
def test_of_two_grants_in_no_order_one_is_early(
    tokens: tuple[int | None, ...], attempts: tuple[int | None, ...]
) -> None:
    grants = in_flight_together(*tokens, attempts=attempts)

    (found,) = early_grants(locks(*grants))

    assert (found.breach.rule, found.accused, found.because[:1]) == ("both-promised", grants[1], (grants[0],))


def test_tokens_that_cannot_be_trusted_order_no_two_grants() -> None:
    regressed = [acquire(2, "c", 9, called=200, returned=201), acquire(3, "d", 8, called=210, returned=211)]

    (by_token,) = early_grants(locks(*in_flight_together(2, 1)))
    (by_both,) = early_grants(locks(*in_flight_together(2, 1), *regressed))

    assert (by_token.breach.rule, by_token.accused.index) == ("promised-by-tokens", 0)
    assert (by_both.breach.rule, by_both.accused.index) == ("both-promised", 1)


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
