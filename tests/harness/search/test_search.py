"""The search on real servers, the plans that it tries, when it has dried up, and how close it came."""

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from checkers.history.faults import Fault
from checkers.vocabulary.document import HazardsDocument, VerdictDocument
from checkers.vocabulary.fault_kinds import words_of
from harness.core.exit_codes import ExitCode
from harness.nemesis.plan import PlannedFault
from harness.search.behaviors import ENOUGH_RUNS, Behaviors, signature
from harness.search.search import VIOLATED, _moved, closeness, described
from tests.support.command import fencepost, refusal
from tests.support.verdicts import verdict_of

SECOND = 1_000_000_000
MOMENTS = st.lists(st.integers(0, 20 * SECOND - 1), max_size=5).map(sorted)


@given(MOMENTS, st.integers())
def test_a_changed_plan_stays_within_the_run(moments: list[int], seed: int) -> None:
    fault = PlannedFault(kind="kill", target="storage", at=None, moments=tuple(moments))

    moved = _moved(fault, 20 * SECOND, random.Random(seed))

    assert (moved.kind, moved.target, moved.at) == ("kill", "storage", None)
    assert len(moved.moments) == len(moments)
    assert list(moved.moments) == sorted(moved.moments)
    assert all(0 <= moment < 20 * SECOND for moment in moved.moments)


def test_a_search_takes_one_target(tmp_path: Path) -> None:
    said = refusal(tmp_path, "run", "--until-violation", "etcd-postgres", "etcd-postgres-unfenced")

    assert "--until-violation searches with one target at a time" in said


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_a_search_ends_with_the_run_that_violates(tmp_path: Path) -> None:
    found = fencepost(
        tmp_path,
        *("run", "--engine", "local", "--until-violation", "--max-time", "5m", "--format", "json"),
        *("--set", "workload.duration=6s", "etcd-postgres-unfenced"),
    )

    verdicts = [json.loads(line)["verdict"] for line in found.stdout.splitlines()]
    assert found.returncode == ExitCode.AS_EXPECTED, found.stderr
    assert verdicts[-1] == "invalid"
    assert "invalid" not in verdicts[:-1]
    assert f"run {len(verdicts)}, " in found.stderr
    assert "plan.json" in found.stderr


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_a_search_ends_when_the_time_is_over(tmp_path: Path) -> None:
    found = fencepost(
        tmp_path,
        *("run", "--engine", "local", "--until-violation", "--max-time", "1s", "--seed", "3"),
        *("--set", "workload.duration=6s", "etcd-postgres"),
    )

    assert found.returncode == ExitCode.AS_EXPECTED, found.stderr
    assert "run 1, " in found.stdout
    assert "seed 3, its own plan: a stale write was attempted" in found.stdout
    assert "no violation in 1 run: the time was up\n" in found.stdout


def verdict(**coverage: int) -> VerdictDocument:
    return verdict_of({"coverage": coverage})


def test_a_count_of_another_magnitude_is_new_behavior() -> None:
    behaviors = Behaviors()

    assert [behaviors.add(verdict(pauses=pauses)) for pauses in (4, 5, 8, 0)] == [1, 0, 1, 0]


def test_a_hazard_is_a_behavior_however_often_it_was_hit() -> None:
    behaviors = Behaviors()
    hits = [{"granted/expired/holder": 1}, {"granted/expired/holder": 9}, {"renewing/expired/holder": 1}, {}]

    new = [
        behaviors.add(structs.replace(verdict(), hazards=HazardsDocument(hit=hit) if hit else None))
        for hit in hits
    ]

    assert new == [1, 0, 1, 0]


def test_nothing_is_estimated_from_few_runs() -> None:
    behaviors = Behaviors()
    for _ in range(ENOUGH_RUNS - 1):
        behaviors.add(verdict(pauses=1))

    assert behaviors.left is None
    assert not behaviors.dried_up


def test_equal_runs_dry_up() -> None:
    behaviors = Behaviors()
    for _ in range(ENOUGH_RUNS):
        behaviors.add(verdict(pauses=1))

    assert behaviors.left == 0
    assert behaviors.dried_up


def fault(kind: str, target: str, began: int, healed: float) -> Fault:
    return Fault(
        kind=kind,
        target=target,
        began=began,
        healed=healed,
        owner=None,
        resource=None,
        lines=(1,),
        words=words_of(kind, None),
    )


def test_a_signature_names_the_faults_that_were_in_force_at_once() -> None:
    apart = [fault("pause", "client:1", 0, 5), fault("pause", "storage", 6, 9)]
    together = [fault("pause", "client:4", 0, 7), fault("pause", "storage", 6, math.inf)]
    touching = [fault("pause", "client:4", 0, 6), fault("pause", "storage", 6, 9)]

    assert signature(apart) == {frozenset({"pause client"}), frozenset({"pause storage"})}
    assert signature(together) == {frozenset({"pause client"}), frozenset({"pause client", "pause storage"})}
    assert signature(touching) == signature(together)


def test_faults_that_come_together_in_another_way_are_new() -> None:
    behaviors = Behaviors()
    alone = [fault("pause", "client:1", 0, 5)]
    other = [fault("pause", "client:2", 10, 50)]
    both = [*alone, fault("kill", "storage", 2, 4)]

    assert [behaviors.add(verdict(pauses=1), faults) for faults in ((), alone, other, both)] == [1, 1, 0, 1]


@pytest.mark.parametrize(("once", "twice", "left"), [(3, 0, 0.9 * 3), (2, 1, 0.9 * 2), (1, 3, 0.9 / 6)])
def test_rare_ways_in_which_faults_come_together_mean_more(once: int, twice: int, left: float) -> None:
    """Of ten runs; the rest are alike."""
    behaviors = Behaviors()
    kinds = [*(f"once{number}" for number in range(once))]
    kinds += [f"twice{number}" for number in range(twice) for _ in range(2)]
    kinds += ["often"] * (10 - len(kinds))

    for kind in kinds:
        behaviors.add(verdict(pauses=1), [fault(kind, "lock", 0, 1)])

    assert behaviors.left == pytest.approx(left)
    assert behaviors.dried_up == (left < 0.5)
    assert f"and {len(set(kinds))} set" in str(behaviors)


@pytest.mark.parametrize(
    ("once", "twice", "left"), [(4, 0, 0.9 * 6), (4, 2, 0.9 * 4), (1, 0, 0), (2, 1, 0.9 * 2), (0, 3, 0)]
)
def test_the_estimate_is_that_of_chao(once: int, twice: int, left: float) -> None:
    """Of ten runs; some behaviors are seen in one of them, some in two."""
    runs: list[list[str]] = [[] for _ in range(10)]
    for number in range(once):
        runs[number].append(f"once_{number}")
    for number in range(twice):
        for run in runs[number : number + 2]:
            run.append(f"twice_{number}")
    behaviors = Behaviors()

    for names in runs:
        behaviors.add(verdict(**dict.fromkeys(names, 1)))

    assert behaviors.left == pytest.approx(left)


CLOSER_AND_CLOSER = [
    {},
    {"pauses_past_lease": 1},
    {"pauses_past_lease": 9},
    {"pauses_past_lease": 1, "grants_to_others": 1},
    {"late_writes_attempted": 1},
    {"stale_writes_attempted": 1},
    {"stale_writes_attempted": 2, "late_writes_attempted": 2},
]


def counted(coverage: dict[str, int], word: str = "valid") -> VerdictDocument:
    return verdict_of({"verdict": word, "coverage": coverage})


def test_each_is_closer_than_the_one_before() -> None:
    found = [closeness(counted(coverage)) for coverage in CLOSER_AND_CLOSER]

    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert max(found) < VIOLATED


def test_a_violation_is_closest() -> None:
    assert closeness(counted({}, "invalid")) == VIOLATED


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        ({}, "no lease was in danger"),
        ({"pauses_past_lease": 2}, "a pause outlived a lease (×2)"),
        ({"stale_writes_attempted": 1}, "a stale write was attempted (×1)"),
    ],
)
def test_it_is_said_in_words(coverage: dict[str, int], said: str) -> None:
    assert described(closeness(counted(coverage))) == said
