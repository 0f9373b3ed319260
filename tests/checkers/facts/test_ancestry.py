"""What each thing of a chain leads to, also where chains run into circles."""

from __future__ import annotations

import random

from checkers.facts.list_history import Ancestry
from tests.support.selection import Cases


def test_a_thing_leads_to_all_that_one_meets_on_its_way(cases: Cases) -> None:
    rng = random.Random(1)
    for _ in range(cases(1000)):
        before = {thing: rng.choice([None, *range(8)]) for thing in range(8)}
        starts = [rng.randrange(8) for _ in range(rng.randrange(1, 8))]

        ancestry = Ancestry(starts, before=before.get, name=lambda thing: thing)

        for start in starts:
            assert {other for other in range(8) if ancestry.leads_to(start, other)} == way(before, start)


def way(before: dict[int, int | None], start: int) -> set[int]:
    passed: set[int] = set()
    thing: int | None = start
    while thing is not None and thing not in passed:
        passed.add(thing)
        thing = before[thing]
    return passed
