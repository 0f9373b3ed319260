"""The hazards that a target's faults can produce, and why not the others."""

import pytest

from checkers.vocabulary.hazards import CELLS, HazardTable, Point
from harness.spec import load, shipped
from harness.spec.hazards import hazard_table, points_aimed_at, points_reported


def table_of(name: str, *overrides: str) -> HazardTable:
    target = load(name, overrides)
    table = hazard_table(target, target.faults)
    assert table is not None
    return table


def why_not(table: HazardTable, name: str) -> str:
    point, end, hit, *fate = [*name.split("/"), "delivered"][:4]
    patterns = {
        name,
        f"*/*/{hit}",
        f"*/*/{hit}/{fate[0]}",
        f"{point}/*/{hit}/{fate[0]}",
        f"*/{end}/{hit}/{fate[0]}",
    }
    (reason,) = (why for why, cells in table.impossible.items() if not patterns.isdisjoint(cells))
    return reason


def test_a_target_without_faults_has_no_hazards() -> None:
    assert hazard_table(load("etcd-postgres"), ()) is None


def test_pauses_at_two_stop_points_can_hit_two_hazards() -> None:
    table = table_of("etcd-postgres")

    assert table.possible == ["granted/superseded/holder", "before-write/superseded/holder"]
    assert why_not(table, "before-write/expired/holder") == "no fault of this target ends then"
    assert why_not(table, "renewing/expired/holder") == "no fault of this target begins during a renewal"
    assert why_not(table, "before-write/superseded/storage") == "no fault of this target hits the storage"
    assert why_not(table, "granted/expired/holder/lost") == "no fault of this target loses messages"


@pytest.mark.parametrize("name", shipped())
def test_each_hazard_is_possible_or_impossible_for_one_reason(name: str) -> None:
    target = load(name)
    table = hazard_table(target, target.faults)

    if table is not None:
        assert table.possible
        for cell in CELLS:
            assert str(cell) in table.possible or why_not(table, str(cell))


def test_only_stop_points_and_hazards_aim_at_a_point() -> None:
    assert points_aimed_at(load("etcd-postgres").faults) == {"granted", "before-write"}
    assert points_aimed_at(load("etcd-postgres-outside-pauses").faults) == frozenset()
    assert points_aimed_at(load("etcd-postgres-hazards").faults) == frozenset(Point)


@pytest.mark.parametrize(
    ("lasts", "number", "never", "why"),
    [
        ("", 18, "acquired/before-expiry/holder", "its faults last longer than any lease"),
        ("500ms", 6, "acquired/expired/holder", "its faults are shorter than what is left of any lease"),
    ],
)
def test_a_pause_ends_after_or_before_the_lease(lasts: str, number: int, never: str, why: str) -> None:
    changes = [f"faults.{each}.lasts={lasts}" for each in (0, 1)] if lasts else []
    table = table_of("etcd-postgres-outside-pauses", *changes)

    assert len(table.possible) == number
    assert why_not(table, never) == why


def test_a_stopped_storage_accepts_nothing() -> None:
    table = table_of("etcd-postgres-server-pauses")

    assert "before-write/regranted/storage/delayed" in table.possible
    assert why_not(table, "before-write/superseded/storage/delayed") == (
        "a storage that is stopped accepts nothing"
    )


def test_a_delayed_write_is_hit_with_its_messages_delayed() -> None:
    assert table_of("etcd-postgres-delayed-write").possible == ["before-write/superseded/holder/delayed"]


@pytest.mark.parametrize(
    ("side", "direction", "may"),
    [("lock", "both", False), ("lock", "to-client", True), ("storage", "both", True)],
)
def test_a_holder_may_release_its_lock_while_it_is_cut_off(side: str, direction: str, may: bool) -> None:
    cut = f'{{kind="partition",target="holder",from="{side}",direction="{direction}",every="2s",lasts="1s"}}'
    table = table_of("etcd-postgres-partition", f"faults=[{cut}]", "require={}")

    assert ("before-release/superseded/holder/lost" in table.possible) == may


OWN_LOCK = ("lock={kind='mine:Lock'}",)


def test_moments_that_no_client_came_to_are_impossible() -> None:
    target = load("etcd-postgres-hazards", OWN_LOCK)
    known = hazard_table(target, target.faults)

    table = hazard_table(target, target.faults, points_reported(target))

    assert known is not None
    assert table is not None
    assert [len(known.possible), len(table.possible)] == [24, 16]
    assert why_not(table, "granted/superseded/holder") == 'no client of this lock ever reported "granted"'
    assert why_not(table, "renewing/expired/holder") == "no client of this lock ever renewed a lease"
    assert table.unreached == [Point.GRANTED, Point.RENEWING]


def test_a_fault_at_drawn_moments_needs_no_report_of_a_client() -> None:
    target = load("etcd-postgres-outside-pauses")

    table = hazard_table(target, target.faults, {Point.WRITE_SENT})

    assert table is not None
    assert table.possible == table_of("etcd-postgres-outside-pauses").possible


def test_the_moments_that_all_hazards_would_try_leave_out_those_too() -> None:
    target = load("etcd-postgres", OWN_LOCK)

    table = hazard_table(target, target.faults, points_reported(target))

    assert table is not None
    assert (table.possible, table.untried) == (["before-write/superseded/holder"], 15)


def test_only_classes_and_programs_of_the_user_report_points() -> None:
    assert points_reported(load("etcd-postgres")) == frozenset()
    assert points_reported(load("etcd-postgres", OWN_LOCK)) == {Point.GRANTED, Point.RENEWING}
    assert points_reported(load("etcd-postgres", ("storage={kind='mine:Storage',fencing='mine'}",))) == {
        Point.WRITE_SENT
    }
