"""Stuck locks: in literal histories, against a definition moment by moment, and in simulated runs."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.facts.evidence import Evidence, gather
from checkers.facts.intervals import joined, without
from checkers.history.faults import Fault, client_of, faults_of
from checkers.history.reader import parse
from checkers.history.records import Header, Op, Outcome
from checkers.rules.stuck_locks import stuck_locks
from tests.support.lock_requests import BREATH, GRACE, LEASE, fault, granted, op, refused, run, stuck
from tests.support.selection import examples
from tests.support.simulation import Simulation

ROUNDS = int(os.environ.get("FENCEPOST_TEST_ROUNDS", "1"))  # a nightly run asks for more


def test_a_lock_that_is_free_beyond_lease_and_grace_is_stuck() -> None:
    assert stuck(refused(5, 19)) == [(5, 19)]
    assert not stuck(refused(5, 18))


def test_a_lock_from_before_the_run_may_last_a_lease() -> None:
    assert stuck(refused(0, 17)) == [(3, 17)]
    assert not stuck(refused(0, 16))


def test_a_hold_lasts_as_long_as_its_last_renewal() -> None:
    renewed = op("renew", "0", 4, 6, "ok")

    assert stuck(granted(1, 2), refused(3, 19)) == [(5, 19)]
    assert stuck(granted(1, 2), renewed, refused(3, 23)) == [(9, 23)]
    assert not stuck(granted(1, 2), renewed, refused(3, 22))


def test_an_unanswered_renewal_may_be_processed_within_a_grace() -> None:
    assert stuck(granted(1, 2), op("renew", "0", 4, 6, "info"), refused(3, 33)) == [(19, 33)]


def test_a_release_that_was_acknowledged_ends_a_hold_and_another_does_not() -> None:
    renewed = op("renew", "0", 4, 6, "ok")
    ends = {kind: op("release", "0", 7, 8, kind) for kind in ("ok", "info", "fail")}

    assert stuck(granted(1, 2), renewed, ends["ok"], refused(3, 22)) == [(8, 22)]
    assert stuck(granted(1, 2), renewed, ends["info"], refused(3, 23)) == [(9, 23)]
    assert stuck(granted(1, 2), renewed, ends["fail"], refused(3, 23)) == [(9, 23)]


def test_one_release_of_several_acquires_ends_nothing() -> None:
    again = granted(4, 5, token=9)

    assert stuck(granted(1, 2), again, op("release", "0", 6, 7, "ok"), refused(3, 22)) == [(8, 22)]


def test_a_hold_with_an_unknown_lease_ends_only_with_its_release() -> None:
    session = granted(1, 2, ttl=None)

    assert not stuck(session, refused(3, 99))
    assert stuck(session, op("release", "0", 4, 5, "ok"), refused(3, 99)) == [(5, 99)]


def test_an_acquire_with_an_unknown_outcome_may_have_been_granted() -> None:
    assert stuck(op("acquire", "0", 1, 2, "info", ttl=LEASE), refused(3, 29)) == [(15, 29)]
    assert not stuck(op("acquire", "0", 4, None, "info", ttl=LEASE), refused(3, 99))
    assert not stuck(op("acquire", "0", 4, 99, "info", ttl=LEASE))


def test_an_unanswered_acquire_has_the_lease_of_the_others() -> None:
    unanswered = op("acquire", "0", 1, 2, "info")  # a recorder knows no lease of it
    others = granted(3, 4, "2"), op("release", "2", 5, 6, "ok")
    session = granted(3, 4, "2", ttl=None)

    assert stuck(unanswered, *others, refused(7, 29)) == [(15, 29)]
    assert not stuck(unanswered, refused(7, 99))
    assert not stuck(unanswered, session, others[1], refused(7, 99))


def test_renewals_of_a_later_hold_say_nothing_of_a_lease_before() -> None:
    session, again = granted(1, 2, ttl=None), granted(40, 41, ttl=None, attempt=40)
    renewed = op("renew", "0", 41, 42, "ok")

    assert not stuck(session, refused(3, 39), again, renewed)


def test_requests_of_a_killed_client_end_eventually() -> None:
    asked = op("acquire", "0", 1, None, "info", ttl=LEASE)

    assert stuck(asked, refused(3, 29), faults=fault("client:0", 2, None, "kill")) == [(15, 29)]
    assert not stuck(asked, refused(3, 99), faults=fault("client:2", 2, None, "kill"))
    assert not stuck(asked, refused(3, 99), faults=fault("client:0", 2, None, "kill"), clients=None)


def test_a_request_delayed_by_a_fault_may_be_processed_after_it() -> None:
    asked = op("acquire", "0", 1, 2, "info", ttl=LEASE)

    assert stuck(asked, refused(3, 49), faults=fault("client:0", 1, 20, "delay")) == [(33, 49)]


def test_a_refused_acquire_and_its_renewals_held_nothing() -> None:
    renewals = [op("renew", "1", time, time + 1, "ok") for time in range(5, 19, 2)]

    assert stuck(refused(5, 19), *renewals) == [(5, 19)]


def test_a_granted_client_waited_until_its_attempt() -> None:
    assert stuck(granted(5, 21, "1", attempt=19)) == [(5, 19)]
    assert not stuck(granted(5, 40, "1"))


def test_several_wait_one_after_the_other_with_a_breath_between() -> None:
    assert stuck(refused(5, 12), refused(13, 20, "2")) == [(5, 20)]
    assert not stuck(refused(5, 12), refused(14, 27, "2"))


@pytest.mark.parametrize("target", ["lock", "lock:leader", "network"])
def test_a_fault_on_the_service_ends_the_stretch_and_a_lease_more(target: str) -> None:
    faults = fault(target, 10, 12, "partition")

    assert not stuck(refused(5, 28), faults=faults)
    assert stuck(refused(5, 29), faults=faults) == [(15, 29)]
    assert not stuck(refused(5, 99), faults=fault(target, 10, None, "kill"))


def test_a_client_that_was_stopped_or_cut_off_did_not_wait() -> None:
    for kind in ("pause", "partition", "kill", "delay", "clock"):
        assert not stuck(refused(5, 24), faults=fault("client:1", 10, 12, kind))
        assert stuck(refused(5, 28), faults=fault("client:1", 10, 12, kind)) == [(14, 28)]
        assert stuck(refused(5, 24), faults=fault("client:2", 10, 12, kind)) == [(5, 24)]
        assert not stuck(refused(5, 24), faults=fault("client:2", 10, 12, kind), clients=None)


def test_a_fault_on_the_storage_does_not_matter() -> None:
    assert stuck(refused(5, 24), faults=fault("storage", 6, 20, "kill")) == [(5, 24)]


def test_without_any_lease_no_lock_is_stuck() -> None:
    assert not stuck(refused(5, 99), ttl=None)


def test_another_resource_does_not_matter() -> None:
    assert stuck(granted(4, 30, resource="r1", attempt=6), refused(5, 19)) == [(5, 19)]


def test_stretches_are_joined_over_gaps_and_cut_by_holes() -> None:
    assert joined([(4, 6), (0, 1), (2, 5), (9, 9)], 1) == [(0, 6), (9, 9)]
    assert without([(0, 5), (6, 9)], [(-math.inf, 1), (4, 7), (8, 8.5)]) == [(1, 4), (7, 8), (8.5, 9)]
    assert without([(0, 5)], []) == [(0, 5)]
    assert without([(0, 5)], [(0, math.inf)]) == []


@st.composite
def runs(draw: st.DrawFn) -> Evidence:
    """Some acquires, renewals and releases of every outcome, some faults."""
    operations = []
    for _ in range(draw(st.integers(1, 7))):
        called, ended = sorted((draw(st.integers(0, 60)), draw(st.integers(0, 60))))
        f = draw(st.sampled_from(["acquire", "acquire", "acquire", "renew", "release"]))
        outcome = draw(st.sampled_from(["ok", "fail", "fail", "info"]))
        owner = draw(st.sampled_from("012"))
        one = op(f, owner, called, ended, outcome)
        if outcome == "info" and draw(st.booleans()):
            one = replace(one, learned=None)
        if f == "acquire" and outcome == "ok":
            one = replace(one, attempt=draw(st.none() | st.integers(called, ended)))
            one = replace(one, ttl=draw(st.sampled_from([None, LEASE])))
        operations.append(one)
    faults = []
    for _ in range(draw(st.integers(0, 2))):
        began, healed = sorted((draw(st.integers(0, 60)), draw(st.integers(0, 60))))
        target = draw(st.sampled_from(["client:0", "client:1", "lock", "storage"]))
        kind = draw(st.sampled_from(["pause", "kill", "partition"]))
        faults.extend(fault(target, began, draw(st.sampled_from([healed, None])), kind))
    faults.sort(key=lambda event: event.time)
    return run(*operations, faults=faults, clients=draw(st.sampled_from([None, 10])))


def on_client(each: Fault, one: Op, header: Header) -> bool:
    return each.client is not None and client_of(one.process, header) == each.client


class Moment:
    """The definition, asked of one moment; no event is at that very moment."""

    def __init__(self, evidence: Evidence, time: float) -> None:
        self.header = evidence.history.header
        self.operations = evidence.history.operations
        self.faults = faults_of(evidence.history.faults)
        self.time = time

    def is_stuck(self) -> bool:
        return self.waited() and self.healthy() and not self.held()

    def waited(self) -> bool:
        waits = [stretch for one in self.operations if one.f == "acquire" for stretch in self.waits(one)]
        if any(start < self.time < end for start, end in waits):
            return True
        before = max((end for _, end in waits if end < self.time), default=-math.inf)
        after = min((start for start, _ in waits if start > self.time), default=math.inf)
        return after - before <= BREATH

    def waits(self, one: Op) -> list[tuple[float, float]]:
        end = one.returned if one.outcome is Outcome.FAIL else one.attempt
        hits = [
            each
            for each in self.faults
            if each.client is not None and (self.header.clients is None or on_client(each, one, self.header))
        ]
        times = [] if end is None else [t + 0.5 for t in range(one.called, end)]
        free = [t for t in times if not any(each.began <= t <= each.healed + BREATH + 1 for each in hits)]
        return [(t - 0.5, t + 0.5) for t in free]

    def healthy(self) -> bool:
        return not any(
            each.began <= self.time <= each.healed + lease_of(self.operations)
            for each in self.faults
            if each.client is None and each.target != "storage"
        )

    def held(self) -> bool:
        acquires = [one for one in self.operations if one.f == "acquire" and one.outcome is not Outcome.FAIL]
        return self.time < self.began() or any(self.held_by(acquire) for acquire in acquires)

    def began(self) -> float:
        """Until when a lock from before the run may have been held."""
        return lease_of(self.operations) or min(one.sent for one in grants_among(self.operations))

    def held_by(self, acquire: Op) -> bool:
        own = [one for one in self.operations if one.owner == acquire.owner]
        setters = [acquire, *(one for one in own if one.f == "renew" and one.outcome is not Outcome.FAIL)]
        again = [one.called for one in own if one.f == "acquire" and one.called > acquire.called]
        of_hold = [one for one in setters if acquire.called <= one.called < min(again, default=math.inf)]
        if len([one for one in own if one.f == "acquire"]) == 1:
            for one in own:
                ends = one.f == "release" and one.outcome is Outcome.OK and acquire.precedes(one)
                if ends and one.returned < self.time:
                    return False
        if self.time < acquire.sent:
            return False
        grants = [one for one in self.operations if one.f == "acquire" and one.outcome is Outcome.OK]
        as_others = acquire.outcome is Outcome.INFO and grants and all(one.ttl is not None for one in grants)
        if not as_others and all(setter.ttl is None for setter in of_hold):
            return True
        return any(setter.sent < self.time < self.lapses(setter) for setter in setters)

    def lapses(self, setter: Op) -> float:
        if setter.returned is not None:
            return setter.returned + lease_of(self.operations)
        left: float | None = setter.learned
        if left is None:
            kills = [
                each.began
                for each in self.faults
                if each.kind == "kill"
                and on_client(each, setter, self.header)
                and each.began >= setter.called
            ]
            left = min(kills, default=math.inf) if self.header.clients else math.inf
        healed = [
            each.healed
            for each in self.faults
            if each.target != "storage" and not (each.kind == "kill" and each.client is not None)
            if each.began <= left + GRACE and each.healed >= setter.called
        ]
        return max([left, *healed]) + GRACE + lease_of(self.operations)


def grants_among(operations: Sequence[Op]) -> list[Op]:
    return [one for one in operations if one.f == "acquire" and one.outcome is Outcome.OK]


def lease_of(operations: Sequence[Op]) -> int:
    """The longest; 0 where the lock was granted, and no answer ever promised a lease."""
    return LEASE if not grants_among(operations) or any(one.ttl for one in operations) else 0


@settings(max_examples=examples(500 * ROUNDS), deadline=None)
@given(runs())
def test_agrees_with_the_definition(evidence: Evidence) -> None:
    longest = lasted = 0
    for time in range(64):
        lasted = lasted + 1 if Moment(evidence, time + 0.5).is_stuck() else 0
        longest = max(longest, lasted)

    assert bool(list(stuck_locks(evidence))) == (longest > lease_of(evidence.history.operations) + GRACE)


KINDS = [
    {"policy": "strict"},
    {"policy": "strict", "sessions": True},
    {"policy": "inclusive", "outages": True},
    {"policy": "inclusive", "appends": True, "clients": 7},
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_right_services_are_never_stuck(kind: dict[str, Any]) -> None:
    for seed in range(75):
        assert not list(stuck_locks(gather(parse(Simulation(seed=seed, **kind).lines())))), seed


def test_a_service_that_keeps_a_lock_whose_lease_is_over_is_found() -> None:
    found = 0
    for seed in range(30):
        found += any(stuck_locks(gather(parse(Simulation(seed=seed, stuck=True, slow=0).lines()))))
    assert found > 15
