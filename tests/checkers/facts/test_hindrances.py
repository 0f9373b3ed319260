"""What kept the faults of a run from testing more, by what its history shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts.evidence import Evidence
from checkers.facts.hindrances import hindrance_of
from checkers.history.records import FaultEvent, Header, History, Op
from checkers.text.limits import SHORTEST_LEASE
from checkers.verdict.judge import judge
from checkers.vocabulary.hazards import HazardTable
from checkers.vocabulary.verdict import Validity, Verdict
from tests.support.brute_force import operation
from tests.support.lock_requests import fault

SECOND = 1_000_000_000
TTL = 2 * SECOND
HEADER = Header(target="mine", ttl=TTL, clients=5)


def acquire(client: int, called: float, returned: float, outcome: str = "fail", ttl: int | None = None) -> Op:
    """Times are in seconds."""
    moments = round(called * SECOND), round(returned * SECOND)
    token = client if outcome == "ok" else None
    return operation("acquire", client, *moments, outcome, owner=f"{client}-{called}", token=token, ttl=ttl)


def pause(
    began: float, healed: float, target: str = "client:1", kind: str = "pause"
) -> tuple[FaultEvent, ...]:
    return tuple(fault(target, round(began * SECOND), round(healed * SECOND), kind))


def advised(*operations: Op, faults: tuple[FaultEvent, ...] = (), header: Header = HEADER) -> str:
    ordered = tuple(replace(each, index=place) for place, each in enumerate(sorted(operations, key=called)))
    return hindrance_of(Evidence(history=History(header=header, operations=ordered, faults=faults))) or ""


def called(op: Op) -> int:
    return op.called


HELD = acquire(1, 0, 0.1, "ok", ttl=TTL)
PAUSED = pause(0.2, 6.2)
ASKED = acquire(2, 0.1, 6.5)
KEEPS_LEASES = (
    "the lock service seems to keep leases for longer than lock.ttl, 2 s: a paused client's lease was over,"
    " another client asked for the lock for a whole ttl, and none got it; check the unit in which the lease is"
    " set"
)


def test_usually_nothing_special_is_advised() -> None:
    assert advised(HELD) == advised() == ""


def test_a_lease_that_is_over_before_any_fault_is_named() -> None:
    short = replace(HEADER, ttl=1_000_000)

    said = advised(acquire(1, 0, 0.1, "ok", ttl=1_000_000), header=short)

    assert said == "the lease of 1 ms is over before any fault begins: set lock.ttl to 100 ms or more"
    assert advised(acquire(1, 0, 0.1, "ok"), header=short) == said, "a grant that promises none lasts a ttl"


@pytest.mark.parametrize(("promised", "named"), [(2, "2 ns"), (2_000, "2 µs"), (2_000_000, "2 ms")])
def test_a_promise_in_another_unit_than_ns_is_named(promised: int, named: str) -> None:
    assert advised(acquire(1, 0, 0.1, "ok", ttl=promised)) == (
        f"grants promise a lease of {named}, but lock.ttl is 2 s: check its unit"
        " (ns in Grant.ttl, ms in ttl_ms of a program)"
    )


def test_a_lease_in_another_unit_is_short_and_at_most_a_tenth_of_the_ttl() -> None:
    def said_of(promised: int, ttl: int) -> str:
        return advised(acquire(1, 0, 0.1, "ok", ttl=promised), header=replace(HEADER, ttl=ttl))

    assert said_of(SHORTEST_LEASE, TTL) == ""
    assert said_of(90_000_000, 900_000_000).startswith("grants promise a lease of 90 ms")
    assert said_of(90_000_001, 900_000_000).startswith("the lease of 90")


def test_only_the_leases_of_grants_are_compared_with_the_ttl() -> None:
    asked = acquire(2, 0.2, 0.3, ttl=TTL)

    assert advised(acquire(1, 0, 0.1, "ok", ttl=2_000), asked).startswith("grants promise a lease of 2 µs")


def test_a_run_whose_promises_are_in_another_unit_is_not_valid() -> None:
    def judged(promised: int) -> Verdict:
        header = replace(HEADER, require={}, hazards=HazardTable(possible=["write-sent/superseded"]))
        return judge(History(header=header, operations=(acquire(1, 0, 0.1, "ok", ttl=promised),)))

    unit = judged(2_000)

    assert (judged(TTL).validity, unit.validity) == (Validity.VALID, Validity.UNKNOWN)
    (reason,) = unit.reasons
    assert reason.startswith(
        "not tested: grants promise a lease of 2 µs, but lock.ttl is 2 s: check its unit"
    )


def test_a_short_lease_that_a_fault_hit_is_not_to_blame() -> None:
    brief = acquire(1, 0, 0.1, "ok", ttl=90_000_000)

    assert advised(brief, faults=pause(0.01, 3)) == ""


def test_a_lock_that_nobody_gets_after_its_lease_is_kept_for_longer() -> None:
    assert advised(HELD, ASKED, faults=PAUSED) == KEEPS_LEASES


def test_a_client_that_asks_again_and_again_asked_all_the_time() -> None:
    asked = [acquire(2, second, second + 0.9) for second in range(7)]

    assert advised(HELD, *asked, faults=PAUSED) == KEEPS_LEASES


@pytest.mark.parametrize(("until", "said"), [(4.999, ""), (5, KEEPS_LEASES)])
def test_a_client_must_have_asked_for_a_whole_ttl(until: float, said: str) -> None:
    assert advised(HELD, acquire(2, 3, until), faults=PAUSED) == said


@pytest.mark.parametrize("ttl", [0, 1])
def test_however_short_the_ttl_a_client_must_have_asked_after_the_lease(ttl: int) -> None:
    shortest, too_early, too_late = replace(HEADER, ttl=ttl), acquire(2, 0.1, 2), acquire(2, 6.2, 7)

    assert advised(HELD, too_early, too_late, faults=PAUSED, header=shortest) == ""
    assert advised(HELD, faults=PAUSED, header=shortest) == ""
    under_fault = tuple(sorted((*PAUSED, *pause(1, 5, "lock")), key=lambda each: each.time))
    assert advised(HELD, ASKED, faults=under_fault, header=shortest) == ""


@pytest.mark.parametrize(
    ("operations", "faults"),
    [
        pytest.param((HELD,), PAUSED, id="nobody asked"),
        pytest.param((HELD, acquire(2, 0.1, 3.9)), PAUSED, id="not for a whole ttl"),
        pytest.param((HELD, acquire(2, 0.1, 5.5, "ok", ttl=TTL)), PAUSED, id="another was granted it"),
        pytest.param((HELD, ASKED), pause(0.2, 1.9), id="the lease was still good"),
        pytest.param((HELD, ASKED), (*PAUSED, *pause(1, 5, "client:2")), id="who asked was paused too"),
        pytest.param((HELD, ASKED), (*PAUSED, *pause(1, 5, "lock")), id="the lock service was paused"),
        pytest.param((HELD, replace(ASKED, resource="r1")), PAUSED, id="for another lock"),
        pytest.param((HELD, ASKED), pause(0.2, 6.2, kind="delay"), id="only its messages were late"),
    ],
)
def test_what_may_have_another_reason_is_not_blamed_on_the_lease(
    operations: tuple[Op, ...], faults: tuple[FaultEvent, ...]
) -> None:
    assert advised(*operations, faults=tuple(sorted(faults, key=lambda each: each.time))) == ""
