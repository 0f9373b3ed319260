"""Which faults were in force between two moments."""

from __future__ import annotations

import math
import random

from checkers.history.faults import Fault, Faults
from checkers.vocabulary.fault_kinds import KINDS
from tests.support.examples import Cases


def fault(began: int, healed: float) -> Fault:
    return Fault(
        kind="pause",
        target="client:1",
        began=began,
        healed=healed,
        owner=None,
        resource=None,
        lines=(2, 3),
        words=KINDS["pause"],
    )


def test_the_faults_of_a_stretch_are_those_that_overlap_it(cases: Cases) -> None:
    rng = random.Random(1)
    for _ in range(cases(500)):
        begins = sorted(rng.randrange(20) for _ in range(rng.randrange(8)))
        some = [fault(began, began + rng.choice([0, 1, 5, 30, math.inf])) for began in begins]
        start = rng.randrange(25)
        end = start + rng.randrange(8)
        overlapping = [place for place, each in enumerate(some) if each.overlaps(start, end)]

        faults = Faults(some)

        assert list(faults.places_between(start, end)) == overlapping
        assert faults.first_between(start, end) == (some[overlapping[0]] if overlapping else None)
