"""What a fault on servers does to writes, in literal histories: ten writes a second, but for a gap."""

from collections.abc import Iterable
from typing import Any

import pytest

from checkers.history.records import FaultEvent, Header, History, Op, Outcome
from harness.bench.availability import faults_on_servers, seen_in
from harness.bench.document import AvailabilityDocument
from harness.spec import load

S = 1_000_000_000


def operation(f: str, called: float, returned: float, token: int) -> Op:
    return Op(
        index=0,
        process=0,
        f=f,
        resource="r0",
        called=round(called * S),
        returned=round(returned * S),
        outcome=Outcome.OK,
        token=token,
    )


def writes(first: float, last: float, token: int) -> Iterable[Op]:
    count = round((last - first) * 10)
    return (operation("write", first + n / 10 - 0.01, first + n / 10, token) for n in range(count))


def seen(*operations: Op, began: float, healed: float | None) -> list[AvailabilityDocument]:
    known: dict[str, Any] = {"kind": "failover", "target": "lock", "evidence": ""}
    events = [("in force", began), *([] if healed is None else [("healed", healed)])]
    faults = tuple(FaultEvent(time=round(at * S), state=state, **known) for state, at in events)
    header = Header(target="t", ttl=2 * S, clients=2, require={})
    return list(seen_in(History(header=header, operations=operations, faults=faults)))


def test_a_fault_that_is_seen_late_began_with_the_gap() -> None:
    (found,) = seen(
        operation("acquire", 0, 0.05, 1),
        *writes(0.1, 5.1, 1),  # the last one at 5.0
        operation("acquire", 5.5, 6.9, 2),
        *writes(7, 12, 2),
        began=6.5,
        healed=6.6,
    )

    assert (found.lasted, found.without_writes) == (100, 2000)
    assert (found.before, found.after) == (10, 10)
    assert found.during == 0.5  # the write that the gap begins with
    assert found.first_write == 2000


def test_writes_go_on_during_a_fault_that_is_not_felt() -> None:
    (found,) = seen(operation("acquire", 0, 0.05, 1), *writes(0.1, 12, 1), began=5, healed=6)

    assert (found.before, found.during, found.after) == (10, 10, 10)
    assert found.without_writes == pytest.approx(100)
    assert found.first_write is None  # nobody else was granted the lock


def test_a_token_that_is_issued_again_names_the_later_grant() -> None:
    (found,) = seen(
        operation("acquire", 0, 0.05, 7),
        *writes(0.1, 5.1, 7),
        operation("acquire", 6, 6.5, 7),
        *writes(7, 12, 7),
        began=5.5,
        healed=5.6,
    )

    assert found.first_write == 2000


def test_a_fault_that_was_not_healed_is_left_out() -> None:
    assert seen(operation("acquire", 0, 0.05, 1), *writes(0.1, 5, 1), began=2, healed=None) == []


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("etcd-postgres", []),
        ("etcd-postgres-failover", ["failover"]),
        ("etcd-postgres-leader-isolated", ["partition"]),
        ("etcd-postgres-partition", []),  # they cut clients off
    ],
)
def test_only_faults_on_servers_are_the_question(name: str, kinds: list[str]) -> None:
    assert [fault.kind for fault in faults_on_servers(load(name))] == kinds
