"""The order of a night's runs, shards and the budget, and what is repeated or interrupted."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.campaign import campaign as campaigns
from harness.campaign import execution
from harness.campaign.campaign import CampaignProgress, CampaignRunner
from harness.campaign.execution import Finished, Order
from harness.campaign.night import Night
from harness.campaign.schedule import OVERHEAD, Job, Past, choose, fits, jobs, shard
from harness.core.duration import NS
from tests.support.campaign_runs import cell, finished, job, plan, verdict


def scheduled(*names: str, seeds: list[int] | None = None, repeat: int = 1, **past: Past) -> tuple[Job, ...]:
    cells = [cell(name) for name in names]
    return jobs(cells, seeds=seeds, repeat=repeat, past=past, rng=random.Random(1))


def past(last_run: str, *, failed: bool = False, seconds: float = 20.0) -> Past:
    return Past(seconds=seconds, last_run=last_run, failed_last=failed)


def test_failures_come_first_then_the_least_recently_run() -> None:
    order = scheduled(
        "a", "b", "c", "d", a=past("2026-11-21"), b=past("2026-11-19"), c=past("2026-11-21", failed=True)
    )

    assert [each.cell for each in order] == ["c", "d", "b", "a"]


def test_every_cell_runs_once_before_any_runs_twice() -> None:
    order = scheduled("a", "b", repeat=2)

    assert [(each.cell, each.repeat) for each in order] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert len({each.seed for each in order}) == 4


def test_given_seeds_are_used_for_every_cell() -> None:
    assert [each.seed for each in scheduled("a", "b", seeds=[5, 6])] == [5, 5, 6, 6]


def test_a_run_is_expected_to_take_as_long_as_before() -> None:
    known, unknown = scheduled("a", "b", a=past("2026-11-21", seconds=12.5))[::-1]

    assert known.expected == 12.5 * NS["s"]
    assert unknown.expected == 20 * NS["s"] + OVERHEAD


@given(st.lists(st.integers(1, 100), min_size=1, max_size=30), st.integers(1, 6))
def test_shards_share_the_runs_without_loss_and_evenly(seconds: list[int], of: int) -> None:
    everything = [job(f"c{number}", expected=each) for number, each in enumerate(seconds)]

    shards = [shard(everything, number, of) for number in range(1, of + 1)]

    assert sorted(each.id for part in shards for each in part) == sorted(each.id for each in everything)
    sums = [sum(each.expected for each in part) for part in shards]
    assert max(sums) - min(sums) <= max(each.expected for each in everything)


@pytest.mark.parametrize(
    ("elapsed", "budget", "expected"), [(30, 60, True), (31, 60, False), (999, None, True)]
)
def test_a_run_starts_only_if_the_budget_allows(elapsed: int, budget: int | None, expected: bool) -> None:
    ns = None if budget is None else budget * NS["s"]

    assert fits(job(expected=30), elapsed * NS["s"], ns) is expected


def test_known_seeds_come_first_and_are_not_run_twice() -> None:
    found = jobs(
        [cell("a"), cell("b")],
        seeds=[1, 2],
        repeat=1,
        past={},
        known={"b": [2, 9], "other": [5]},
        rng=random.Random(1),
    )

    assert [(each.cell, each.seed) for each in found] == [("b", 9), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert len({each.id for each in found}) == 5


def on(servers: str, name: str, turn: int = 2) -> Job:
    return replace(job(name), servers=servers, turn=turn)


def test_cells_with_the_same_servers_follow_the_most_urgent_of_them() -> None:
    servers = {"a": "x", "b": "y", "c": "x", "d": "", "e": "", "f": "y"}
    known = {name: past(f"2026-11-{10 + place}") for place, name in enumerate(servers)}

    order = jobs(
        [replace(cell(name), servers=each) for name, each in servers.items()],
        seeds=[1, 2],
        repeat=1,
        past=known | {"f": past("2026-11-15", failed=True)},
        rng=random.Random(1),
    )

    assert [each.cell for each in order] == 2 * ["f", "a", "c", "b", "d", "e"]
    assert [each.turn for each in order] == [1, 2, 2, 2, 2, 2, 3, 4, 4, 4, 4, 4]
    assert {each.cell: each.servers for each in order} == servers


def test_a_worker_stays_with_its_servers_while_runs_are_as_urgent() -> None:
    waiting = [on("y", "b"), on("x", "c"), on("x", "d", turn=3)]

    assert choose(waiting, ["", "x"], elsewhere=()) == (waiting[1], 1)
    assert choose([waiting[0], waiting[2]], ["x"], elsewhere=()) == (waiting[0], 0)


def test_an_empty_worker_leaves_servers_to_the_worker_that_has_them() -> None:
    waiting = [on("x", "a"), on("y", "b")]

    assert choose(waiting, ["z", ""], elsewhere={"x"}) == (waiting[1], 1)
    assert choose(waiting[:1], [""], elsewhere={"x"}) == (waiting[0], 0)  # rather than do nothing
    assert choose([], [""], elsewhere=()) is None


def test_runs_with_servers_of_their_own_keep_their_order() -> None:
    waiting = [on("", "a"), on("", "b")]

    assert choose(waiting, ["", ""], elsewhere=()) == (waiting[0], 0)


SOURCE = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["a"]\n'
JOBS = tuple(job(repeat=number, seed=number) for number in (1, 2, 3, 4))
RULES = {1: "after-newer", 2: "after-newer", 3: "after-fence"}  # of the failing seeds


def make(order: Order) -> Finished:
    rule = RULES.get(order.job.seed)
    return finished(order.job, 1, verdict("too late", rule=rule)) if rule else finished(order.job)


def made(night: Night, events: list[Any]) -> list[str]:
    """Make the open runs of a night, one after another, and return the names of all."""
    with ThreadPoolExecutor(1) as executor:
        CampaignRunner(
            night, workers=1, budget=None, fail_fast=False, notify=events.append, executor=executor
        ).run()
    return [each.job.id for each in night.finished()]


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    monkeypatch.setattr(campaigns, "execute", make)
    return Night.create(tmp_path, plan(*JOBS), SOURCE)


EACH_FINGERPRINT = ["a-1", "a-1-again1", "a-1-again2", "a-1-again3", "a-2"]
EACH_FINGERPRINT += ["a-3", "a-3-again1", "a-3-again2", "a-3-again3", "a-4"]


def test_the_first_failure_of_each_fingerprint_is_repeated(night: Night) -> None:
    assert made(night, []) == EACH_FINGERPRINT


def test_a_resumed_night_repeats_each_fingerprint_once(night: Night) -> None:
    for each in (JOBS[0], job(repeat=1, seed=1, reproduction=1), JOBS[1]):
        night.record(make(Order(job=each, night=night.path, engine="local")))

    assert sorted(made(night, [])) == EACH_FINGERPRINT


def test_the_time_left_counts_the_repetitions_of_a_run_that_failed(night: Night) -> None:
    events: list[Any] = []

    made(night, events)

    at = next(n for n, event in enumerate(events) if isinstance(event, Finished))
    assert events[at].job.id == "a-1"
    assert events[at - 1].expected == (3 + 3) * JOBS[0].expected  # repetitions, and runs


def test_progress_counts_runs_and_no_repetitions(night: Night) -> None:
    events: list[Any] = []

    made(night, events)

    progress = [event for event in events if isinstance(event, CampaignProgress)]
    assert {each.done + each.left for each in progress} == {4}
    assert (progress[-1].done, progress[-1].left, progress[-1].failed) == (4, 0, 3)


LONG = [sys.executable, "-c", "import time; time.sleep(300)"]


def interrupt(_event: object) -> Never:
    raise KeyboardInterrupt


@pytest.mark.timeout(60)
def test_a_run_that_has_not_started_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "dies_with_us", lambda _arguments: LONG)
    night = Night.create(tmp_path, plan(job("a")), SOURCE)
    work = CampaignRunner(night, workers=1, budget=None, fail_fast=False, notify=interrupt)

    with pytest.raises(KeyboardInterrupt):
        work.run()

    assert night.finished() == ()
