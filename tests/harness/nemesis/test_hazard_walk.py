"""Walks over hazards: their order, what the plan says, what the walkers share, and real processes."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from checkers.vocabulary.hazards import CELLS, Cell, End, Point
from harness.clients import pool
from harness.clients.shared_state import NO_TOKEN, Held, SharedProgress, SharedState
from harness.nemesis.fields import of_pauses
from harness.nemesis.hazard_walk import Aims, stop_requests, walkers
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import FIRST, TAKES, Observer, PlanLog, plan
from harness.nemesis.reach import FaultReach
from harness.nemesis.triggers import StopRequest, Victim
from tests.support.waiting import PATIENCE, wait_for

SECOND = 1_000_000_000
TTL = SECOND
ALL = PauseSpec(kind="pause", target="holder", hazards="all")
AIMED = PauseSpec(kind="pause", target="holder", at="before-write", until="superseded")
NAMES = [str(cell) for cell in CELLS]


def test_each_walker_begins_with_a_stale_write() -> None:
    other = Cell(Point.GRANTED, End.SUPERSEDED)
    aims = Aims((FIRST, other), 3)

    assert [aims.take(9)[0] for _ in range(3)] == [FIRST] * 3
    for _ in range(3):
        aims.done(FIRST, FIRST.end)
    assert [aims.take(9)[0] for _ in range(3)] == [other, FIRST, other]


def test_walkers_share_a_list_that_begins_again() -> None:
    one, other = Cell.named("granted/expired"), Cell.named("granted/superseded")
    aims = Aims((one, other))

    assert [aims.take(9), aims.take(9), aims.take(9)] == [(one,), (other,), (one,)]
    aims.done(one, None)
    assert [aims.take(9), aims.take(9), aims.take(9)] == [(other,), (one,), (one,)]


def test_a_pause_that_cannot_end_in_time_is_not_begun() -> None:
    long, short = Cell.named("granted/superseded"), Cell.named("granted/before-expiry")
    aims = Aims((long, short))

    assert aims.take(TAKES[End.SUPERSEDED] - 0.1) == (short,)
    assert aims.take(0.1) == ()
    assert aims.take(9) == (long,)


def test_what_the_same_pause_may_hit_is_taken_together() -> None:
    cells = tuple(
        map(
            Cell.named, ("granted/superseded", "renewing/regranted", "renewing/superseded", "granted/expired")
        )
    )
    aims = Aims(cells)

    assert aims.take(9, 2) == (cells[0], cells[1])
    assert aims.take(9, 2) == (cells[2], cells[3])


def test_what_a_pause_hit_is_struck_off_also_if_it_aimed_at_something_else() -> None:
    cells = tuple(map(Cell.named, ("granted/superseded", "renewing/superseded", "granted/expired")))
    aims = Aims(cells)
    aims.take(9)

    aims.done(cells[0], End.EXPIRED)

    assert aims.take(9, 4) == (cells[1], cells[0])
    aims.done(cells[1], End.SUPERSEDED)
    aims.done(cells[0], End.SUPERSEDED)
    assert aims.take(9) == (cells[0],), "the list begins again"


@pytest.mark.parametrize(
    ("target", "clients", "resources", "expected"),
    [
        ("holder", 5, 2, (0, 1)),
        ("holder", 5, 1, (0,)),
        ("holder", 5, 9, (0, 1)),
        ("holder", 2, 2, (0,)),
        ("holder:r1", 5, 2, (1,)),
        ("waiter", 5, 2, (0, 1)),
        ("lock:leader", 5, 2, (0, 1)),
    ],
)
def test_there_is_a_walker_for_each_resource_if_enough_clients_run(
    target: str, clients: int, resources: int, expected: tuple[int, ...]
) -> None:
    fault = PauseSpec(kind="pause", target=target, hazards="all")

    assert walkers(fault, clients, resources) == expected


def test_each_walker_has_a_stop_request_of_its_own() -> None:
    assert stop_requests((ALL, AIMED, ALL), 5, 2) == [0, 2, 3, 5]
    assert stop_requests((), 5, 2) == [0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hazards": "some"}, 'must be "all", or a list of hazards (see docs/hazards.md)'),
        ({"hazards": ()}, 'must be "all", or a list of hazards (see docs/hazards.md)'),
        ({"hazards": ("writesent/superseded",)}, "did you mean write-sent?"),
        ({"hazards": ("write-sent/superseded/storage",)}, "is no hazard that a pause of holder can hit"),
        ({"hazards": ("write-sent/expired/lock",), "target": "lock"}, "that a pause of lock can hit"),
        ({"hazards": "all", "at": "acquired"}, "give only the target"),
        ({"hazards": "all", "lasts": "1s"}, "give only the target"),
        ({"hazards": "all", "target": "holdr"}, "not at holdr; did you mean holder?"),
        ({"hazards": "all", "target": "client:0"}, "not at client:0; there are: holder, waiter"),
        ({"hazards": "all", "target": "etcd-1"}, "not at etcd-1; there are: holder, waiter"),
    ],
)
def test_wrong_hazards_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        PauseSpec.model_validate({"kind": "pause", "target": "holder"} | changes)

    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("target", "hazard"),
    [
        ("holder:r1", "write-sent/superseded/holder"),
        ("waiter", "renewing/regranted/waiter"),
        ("lock", "granted/before-expiry/lock"),
        ("lock:leader", "granted/expired/lock/delayed"),
        ("storage", "write-sent/regranted/storage/delayed"),
    ],
)
def test_a_pause_hits_whom_it_aims_at_and_stopped_servers_delay_messages(target: str, hazard: str) -> None:
    hit = of_pauses(target)

    assert Cell.named(hazard) in hit
    assert len(hit) == 24


@pytest.fixture
def state(folder: Path) -> Iterator[SharedState]:
    """The state of three clients on two resources."""
    with pool.started(3, 2, 2, folder) as started:
        yield started.state


def test_a_lock_is_regranted_once_another_client_knows_its_higher_token(state: SharedState) -> None:
    first, second = (SharedProgress(state, client, ("r0", "r1")) for client in (0, 1))
    first.reached("acquired", "r0", "0-1", 33)

    def hold_of(token: int) -> Held:
        return replace(state.held(0), token=token)

    assert not state.regranted(hold_of(33))
    second.reached("acquired", "r1", "1-1", 34)
    assert not state.regranted(hold_of(33))
    second.granted("r0", "1-2")  # it does not know its token yet
    assert not state.regranted(hold_of(33))
    second.reached("acquired", "r0", "1-2", 32)
    assert not state.regranted(hold_of(33))
    assert state.regranted(hold_of(NO_TOKEN))
    second.reached("acquired", "r0", "1-2", 34)
    assert state.regranted(hold_of(33))


def test_a_lock_is_freed_once_its_later_holder_left_and_nobody_waits(state: SharedState) -> None:
    first, second, third = (SharedProgress(state, client, ("r0", "r1")) for client in range(3))
    first.reached("before-write", "r0", "0-1", 33)
    hold = state.held(0)

    assert not state.freed(hold), "nobody had it since"
    second.reached("before-write", "r0", "1-1", 34)
    second.accepted("r0", 34)
    assert not state.freed(hold), "the other client still holds it"
    third.waiting("r0")
    second.exited()
    assert not state.freed(hold), "a third one will be granted it"
    third.waiting("r1")
    assert state.freed(hold)


def holder(state: SharedState, client: int, *points: str) -> psutil.Process:
    """A process that holds r0 again and again, and reaches these points."""
    pid = os.fork()
    if not pid:
        progress = SharedProgress(state, client, ("r0", "r1"))
        nth = 0
        while not state.run.stop:
            nth += 1
            owner = f"{client}-{nth}"
            for point in points:
                if point == "renewing":
                    progress.promised(time.monotonic_ns() + TTL)
                    progress.renewing("r0", owner)
                else:
                    progress.reached(point, "r0", owner, 10)
            progress.exited()
            time.sleep(0.0005)
        os._exit(0)
    return psutil.Process(pid)


def hit(
    state: SharedState,
    processes: Sequence[psutil.Process],
    hazards: tuple[str, ...],
    count: int,
    target: str = "holder:r0",
) -> Iterator[Any]:
    """Walk over hazards of one holder, the first process, until `count` pauses have ended."""
    process = processes[0]
    fault = PauseSpec(kind="pause", target=target, hazards=hazards)
    recorded: list[dict[str, Any]] = []
    log = PlanLog(
        seed=1,
        started=time.monotonic_ns(),
        duration=600 * SECOND,
        planned=plan((fault,), 1, TTL, 600 * SECOND, NAMES),
        save=lambda _document: None,
    )
    nemesis = Nemesis(
        faults=(fault,),
        ttl=TTL,
        state=state,
        resources=("r0", "r1"),
        reach=FaultReach(cluster=None, sides={}, processes=processes),  # pauses reach no server
        observer=Observer(log=log, record=recorded.append, notify=lambda _event: None),
    )
    try:
        with nemesis:
            assert wait_for(lambda: len(recorded) >= 2 * count or nemesis.error, 3 * PATIENCE)
        nemesis.check()
        yield from log.observed[:count]
    finally:
        state.run.stop = 1
        process.kill()
        os.waitpid(process.pid, 0)


def test_a_pause_ends_within_the_lease_or_once_it_is_over(state: SharedState) -> None:
    process = holder(state, 0, "acquired", "renewing", "before-write")

    expired, short = hit(state, [process], ("before-write/before-expiry", "before-write/expired"), 2)

    assert [expired.at, short.at] == ["before-write", "before-write"]
    assert short.healed - short.in_force < TTL // 2 < expired.healed - expired.in_force


def waiter(state: SharedState, client: int) -> psutil.Process:
    """A process that waits for the lock of r0."""
    pid = os.fork()
    if not pid:
        SharedProgress(state, client, ("r0", "r1")).waiting("r0")
        while not state.run.stop:
            time.sleep(0.0005)
        os._exit(0)
    return psutil.Process(pid)


def test_a_waiter_stops_while_a_holder_is_at_its_stop_point(state: SharedState) -> None:
    holding, waiting = holder(state, 0, "acquired", "before-write"), waiter(state, 1)

    try:
        (stopped,) = hit(state, [holding, waiting], ("before-write/before-expiry/waiter",), 1, "waiter")
    finally:
        waiting.kill()
        os.waitpid(waiting.pid, 0)

    assert (stopped.target, stopped.at, stopped.owner) == ("client:1", "before-write", None)
    assert str(waiting.pid) in stopped.evidence
    assert "state T" in stopped.evidence


def test_a_client_stops_during_a_renewal_only_while_it_holds_the_lock(state: SharedState) -> None:
    process = holder(state, 0, "renewing", "before-write", "renewing")

    (stopped,) = hit(state, [process], ("renewing/before-expiry",), 1)

    assert (stopped.at, stopped.resource) == ("renewing", "r0")
    assert stopped.owner.startswith("0-")


def test_a_holder_waits_for_its_renewal_if_a_stop_is_requested_there(state: SharedState) -> None:
    progress = SharedProgress(state, 0, ("r0", "r1"))
    request = StopRequest(state, 0, "renewing", Victim(resource=0))
    progress.reached("acquired", "r0", "0-1", 33)  # not while none is requested

    with request.armed():
        progress.reached("acquired", "r1", "0-2", 34)  # nor on another resource
        waiting = threading.Thread(target=progress.reached, args=("acquired", "r0", "0-3", 35))
        waiting.start()
        assert wait_for(lambda: state.clients[0].token == 35)
        assert waiting.is_alive()
    waiting.join(PATIENCE)

    assert not waiting.is_alive()


def test_a_plan_has_each_hazard_once_a_stale_write_first_then_late_tokens() -> None:
    (planned,) = plan((ALL,), 7, TTL, 30 * SECOND, NAMES)

    cells = [Cell.named(name) for name in planned.hazards]
    assert sorted(cells) == sorted(of_pauses("holder"))
    assert cells[0] == FIRST
    assert [cell.point for cell in cells[1:5]] == [Point.GRANTED] * 4
    for part in (cells[1:5], cells[5:]):
        assert all([*End].index(one.end) >= [*End].index(other.end) for one, other in pairwise(part))
    assert planned.moments == ()


def test_the_same_seed_gives_the_same_order_and_another_one_another() -> None:
    assert len({plan((ALL,), seed, TTL, 30 * SECOND, NAMES) for seed in (1, 1, 2, 3)}) == 3


def test_a_plan_aims_at_nothing_that_the_target_rules_out() -> None:
    fault = PauseSpec(kind="pause", target="holder", hazards=("granted/expired", "renewing/expired"))

    (planned,) = plan((fault,), 7, TTL, 30 * SECOND, ["renewing/expired/holder"])

    assert planned.hazards == ("renewing/expired/holder",)
