"""The order in which a walk aims at the hazards of a target."""

from __future__ import annotations

from itertools import pairwise

from checkers.vocabulary.hazards import CELLS, Cell, End, Point
from harness.nemesis.fields import of_pauses
from harness.nemesis.hazard_order import FIRST
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import plan

SECOND = 1_000_000_000
TTL = SECOND
ALL = PauseSpec(kind="pause", target="holder", hazards="all")
NAMES = [str(cell) for cell in CELLS]


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
    orders = {plan((ALL,), seed, TTL, 30 * SECOND, NAMES) for seed in (1, 1, 2, 3)}

    assert len(orders) == 3


def test_a_plan_aims_at_nothing_that_the_target_rules_out() -> None:
    fault = PauseSpec(kind="pause", target="holder", hazards=("granted/expired", "renewing/expired"))

    (planned,) = plan((fault,), 7, TTL, 30 * SECOND, ["renewing/expired/holder"])

    assert planned.hazards == ("renewing/expired/holder",)
