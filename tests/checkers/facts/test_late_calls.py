"""Operations by call, and the calls of owners that had lost the lock."""

from __future__ import annotations

import pytest

from checkers.facts.late_calls import ByCall, late_calls_of
from checkers.history.records import Op
from tests.support.brute_force import operation
from tests.support.lock_requests import granted, op, run

HOLDER, GRANT = granted(10, 12, owner="1"), granted(13, 14, owner="2")


def between(*others: Op) -> list[int]:
    """The calls of what may have taken effect between the two grants."""
    evidence = run(*others, HOLDER, GRANT)
    holder, grant = (op for op in evidence.named("acquire") if op.owner in {"1", "2"})
    return [each.called for each in late_calls_of(evidence).between(holder, grant)]


def test_the_last_call_comes_first_among_those_in_flight_in_an_interval() -> None:
    spans = [(1, 4), (2, 3), (3, 9), (5, 5), (6, 8)]
    operations = ByCall([operation("release", 0, *span) for span in spans])

    assert [each.called for each in operations.backwards(5, 4)] == [5, 3, 1]
    assert [each.called for each in operations.backwards(6, 5)] == [6, 5, 3]
    assert [each.called for each in operations.backwards(4, 4)] == [3, 1]


@pytest.mark.parametrize(("returned", "found"), [(12, []), (13, [5])])
def test_a_release_may_take_effect_until_its_answer(returned: int, found: list[int]) -> None:
    lasting = granted(1, 2, ttl=50)

    assert between(lasting, op("release", "0", 5, returned, "ok")) == found


@pytest.mark.parametrize(("called", "found"), [(14, [14]), (15, [])])
def test_a_call_after_the_second_grant_did_not_let_it_in(called: int, found: list[int]) -> None:
    assert between(op("release", "0", called, 20, "ok")) == found


def test_what_the_holder_did_itself_let_no_other_owner_in() -> None:
    assert between(op("release", "1", 13, 20, "ok")) == []


@pytest.mark.parametrize(("ttl", "found"), [(10, [5]), (11, [5]), (12, []), (None, [])])
def test_a_lease_is_lost_by_a_grant_that_returned_when_it_ended(ttl: int | None, found: list[int]) -> None:
    lapsed = granted(1, 2, ttl=ttl)

    assert between(lapsed, op("renew", "0", 5, 20, "ok", ttl=None)) == found


@pytest.mark.parametrize(
    ("called", "resource", "too_late"), [(4, "r0", True), (5, "r0", False), (6, "r0", False), (6, "r1", True)]
)
def test_a_call_belongs_to_the_hold_that_its_owner_had_asked_for(
    called: int, resource: str, too_late: bool
) -> None:
    evidence = run(granted(5, 6), op("renew", "0", called, 8, "ok", resource=resource))
    (renew,) = evidence.named("renew")

    assert late_calls_of(evidence).came_too_late(renew) is too_late
