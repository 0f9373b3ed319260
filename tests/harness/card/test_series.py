"""The series of runs behind a card, some of them real, and the releases of locks after faults."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.history.records import Op, Outcome
from checkers.vocabulary.hazards import End, Point
from harness.card.answers import answers
from harness.card.card import most_runs, planned, run_series
from harness.card.releases import after_moment, of_expired_locks, of_lost_locks
from harness.card.seen import Seen
from harness.card.series import STALE, Experiment, Subject, series, target_of
from harness.core.errors import ConfigurationError
from harness.engines.engine import Engine
from harness.files.run_folder import HISTORY
from harness.run import deployment
from harness.run.runner import RunOptions
from harness.spec.hazards import hazard_table
from tests.support.missing import need
from tests.support.repository import ROOT
from tests.support.selection import nightly
from workloads.client import GIVES_NONE

REDIS_PY = shlex.join([sys.executable, str(ROOT / "examples/locks/python/redis_py.py")])
SUBJECT = Subject(
    name="redis-py",
    command=REDIS_PY,
    lock="redis",
    storage="postgres",
    fencing="conditional-update",
    duration="6s",
    overrides=("workload.think=200ms",),
)


@pytest.mark.parametrize(
    "lock", ["redis", "etcd", "etcd-lock", "zookeeper", "postgres", "pgbouncer", "dynamodb", "hazelcast"]
)
def test_every_run_of_the_series_is_a_target(lock: str) -> None:
    subject = replace(SUBJECT, lock=lock)
    targets = {each.name: target_of(subject, each) for each in series(lock)}

    assert len(targets) == 17 + (lock == "redis")
    for name, target in targets.items():
        assert target.name == f"redis-py-{name}"
        assert target.fenced == name.endswith("-fenced")
    unfenced = {f"pause-{at}-unfenced" for at in (*STALE, "before-write-freed")}
    assert {name for name, target in targets.items() if target.expected == ("stale-write",)} == unfenced


def test_a_walk_a_restart_and_a_failover_get_four_times_as_long() -> None:
    lengths = {each.name: target_of(SUBJECT, each).workload.duration // 10**9 for each in series("redis")}

    longer = ("pause-all-fenced", "restart", "failover")
    assert {name: length for name, length in lengths.items() if length != 6} == dict.fromkeys(longer, 24)


def test_a_fence_is_tried_at_every_dangerous_moment() -> None:
    (walk,) = some("pause-all-fenced")
    target = target_of(SUBJECT, walk)

    table = hazard_table(target, target.faults)
    assert table is not None
    seen = [point for point in Point if point is not Point.RENEWING]  # the program renews by itself
    assert table.possible == [f"{point}/{end}/holder" for point in seen for end in End]
    assert target.require["stale_writes_attempted"] == 1


def test_a_lock_without_tokens_has_no_fenced_runs() -> None:
    subject = replace(SUBJECT, gives_token=False)
    targets = [target_of(subject, each) for each in series("redis", gives_token=False)]

    assert len(targets) == 12
    assert not any(target.fenced for target in targets)
    assert {target.lock.token for target in targets} == {"none"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"command": "python3 'mine"}, "is not a command"),
        ({"lock": "redi"}, "did you mean redis"),
        ({"fencing": "none"}, "--fencing none: the fenced runs need"),
        ({"name": "a/b"}, "name"),
        ({"duration": "10"}, "duration"),
    ],
)
def test_a_wrong_option_is_named_at_first(local_engine: Engine, wrong: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        planned(replace(SUBJECT, **wrong), local_engine)


def test_only_some_runs_are_made_on_request(local_engine: Engine) -> None:
    some_of_it = planned(SUBJECT, local_engine, ["pause-granted-unfenced", "calm"])

    assert [each.name for each in some_of_it] == ["calm", "pause-granted-unfenced"]
    with pytest.raises(ConfigurationError, match="--only reset: no run of the series; did you mean restart"):
        planned(SUBJECT, local_engine, ["reset"])
    with pytest.raises(ConfigurationError, match="it needs a token, and --no-token leaves it out"):
        planned(replace(SUBJECT, gives_token=False), local_engine, ["pause-granted-fenced"])


@pytest.mark.parametrize(("kept", "runs"), [([0, 0, 0], 3), ([0, 1], 2), ([1], 1)])
def test_a_restart_is_repeated_until_it_shows_something(
    local_engine: Engine, monkeypatch: pytest.MonkeyPatch, kept: list[int], runs: int
) -> None:
    shown = iter(kept)

    def run(_subject: Subject, experiment: Experiment, *_: object) -> Seen:
        refused = int(experiment.kind == "pause")
        return Seen(experiment=experiment, releases_refused=refused, kept=0 if refused else next(shown))

    monkeypatch.setattr("harness.card.card._run", run)
    experiments = planned(SUBJECT, local_engine, ["pause-before-write-unfenced", "restart"])

    made = list(run_series(SUBJECT, experiments, local_engine, RunOptions()))

    assert [each.experiment.kind for each in made] == ["pause", *["restart"] * runs]
    assert len(made) <= most_runs(experiments) == 4


def test_a_lock_without_tokens_gets_an_option(local_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise ConfigurationError(GIVES_NONE)

    monkeypatch.setattr("harness.card.card.to_verdict", run)
    fenced = planned(SUBJECT, local_engine, ["pause-acquired-fenced"])

    with pytest.raises(ConfigurationError, match="add --no-token"):
        list(run_series(SUBJECT, fenced, local_engine, RunOptions()))


def some(*names: str) -> Iterator[Experiment]:
    return (each for each in series("redis") if each.name in names)


@pytest.mark.engine
@pytest.mark.nightly
def test_lock_then_incr_is_not_atomic_and_refuses_late_releases(local_engine: Engine, tmp_path: Path) -> None:
    experiments = list(some("calm", "pause-granted-unfenced", "pause-before-write-fenced"))
    need(local_engine, deployment.topology(target_of(SUBJECT, experiments[-1]), ()))

    seen = list(run_series(SUBJECT, experiments, local_engine, RunOptions(runs=tmp_path)))

    words = {answer.key: answer.word for answer in answers(SUBJECT, seen)}
    assert [run.failure for run in seen] == ["", "", ""]
    keys = ("token", "atomic_with_grant", "tells_its_holder")
    assert [words[key] for key in keys] == ["yes", "no", "yes"]


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("retakes", ["renew", *nightly("release")])
def test_an_expired_lock_taken_again_does_not_tell(
    local_engine: Engine, tmp_path: Path, retakes: str
) -> None:
    program = ROOT / "tests/support/retaking_lock.py"
    subject = replace(
        SUBJECT,
        command=shlex.join([sys.executable, str(program), str(tmp_path / "leases.db"), retakes]),
        lock="client",
        storage="sqlite",
        fencing="none",
        gives_token=False,
        duration="5s",
        overrides=("lock.ttl=1s",),
    )
    (freed,) = some("pause-before-write-freed-unfenced")
    options = RunOptions(runs=tmp_path / "runs")

    seen: list[Seen] = []
    while not any(run.accepted for run in seen) and len(seen) < 3:  # another may have been faster
        seen += run_series(subject, [freed], local_engine, options)

    row = next(each for each in answers(subject, seen) if each.key == "tells_its_holder")
    assert row.word == "no", row.said
    lines = [int(number) for number in re.findall(r"\(line (\d+)\)", row.said)]
    history = (row.runs[-1] / HISTORY).read_text().splitlines()
    shown = [json.loads(history[number - 1]) for number in lines]
    assert [(event["f"], event["type"]) for event in shown] == [
        ("acquire", "ok"),
        ("acquire", "ok"),
        ("release", "ok"),
    ]
    assert shown[0]["owner"] == shown[2]["owner"] != shown[1]["owner"]


def op(f: str, owner: str, called: int, returned: int, outcome: Outcome = Outcome.OK) -> Op:
    return Op(
        index=called,
        process=0,
        f=f,
        resource="r0",
        owner=owner,
        called=called,
        returned=None if outcome is Outcome.INFO else returned,
        outcome=outcome,
    )


def refused_and_ok(history: list[Op]) -> tuple[int, int]:
    answers = [each.release.outcome for each in of_lost_locks(history)]
    return answers.count(Outcome.FAIL), answers.count(Outcome.OK)


@pytest.mark.parametrize(
    ("outcome", "counted"), [(Outcome.FAIL, (1, 0)), (Outcome.OK, (0, 1)), (Outcome.INFO, (0, 0))]
)
def test_a_refused_release_shows_that_the_lock_was_lost(outcome: Outcome, counted: tuple[int, int]) -> None:
    history = [
        op("acquire", "a", 1, 2),
        op("acquire", "b", 1, 5),
        op("release", "a", 6, 7, outcome),
        op("release", "b", 8, 9),
    ]

    assert refused_and_ok(history) == counted


def test_a_holder_that_nobody_followed_has_lost_nothing() -> None:
    history = [
        op("acquire", "a", 1, 2),
        op("release", "a", 3, 4, Outcome.FAIL),
        op("acquire", "b", 5, 6),
        op("release", "c", 7, 8, Outcome.FAIL),
    ]

    assert refused_and_ok(history) == (0, 0)


@pytest.mark.parametrize(
    ("acquires", "counted"),
    [
        ([{"attempt": 1, "token": 2}, {"attempt": 3, "token": 1}], (0, 1)),  # after the first had returned
        ([{"attempt": 1, "token": 1}, {"attempt": 2, "token": 2}], (0, 0)),  # neither is certainly later
        ([{"token": 1}, {"token": 2}], (0, 1)),
        ([{"token": 2}, {"token": 1}], (0, 0)),  # the second was paused before its acquire returned
    ],
)
def test_only_a_grant_that_surely_came_later_takes_the_lock_away(
    acquires: list[dict[str, int]], counted: tuple[int, int]
) -> None:
    first, second = acquires
    history = [
        replace(op("acquire", "a", 0, 2), **first),
        replace(op("acquire", "b", 1, 5), **second),
        op("release", "a", 6, 7),
    ]

    assert refused_and_ok(history) == counted


@pytest.mark.parametrize(("moment", "found"), [(2, []), (3, ["a"]), (8, ["a"]), (9, [])])
def test_releases_after_a_fault_are_of_locks_held_at_its_beginning(moment: int, found: list[str]) -> None:
    history = [op("acquire", "a", 1, 2), op("release", "a", 9, 10), op("acquire", "b", 11, 12)]

    assert [release.owner for release in after_moment(history, moment)] == found


@pytest.mark.parametrize(
    ("lease", "counts"),
    [({"ttl": None}, True), ({"ttl": 8}, True), ({"ttl": 7}, False), ({"ttl": 7, "attempt": 2}, True)],
)
def test_a_release_after_the_end_of_its_lease_shows_nothing(lease: dict[str, int], counts: bool) -> None:
    history = [replace(op("acquire", "a", 1, 3), **lease), op("release", "a", 9, 10, Outcome.FAIL)]

    assert bool([*after_moment(history, 5)]) is counts


def test_a_lost_release_names_the_grants_that_show_it() -> None:
    history = [
        op("acquire", "a", 1, 2),
        op("acquire", "b", 3, 4),
        op("release", "b", 5, 6),
        op("release", "a", 7, 8),
    ]

    (lost,) = of_lost_locks(history)

    assert (lost.grant, lost.later, lost.release) == (history[0], history[1], history[3])


EXPIRED = [replace(op("acquire", "a", 1, 2), ttl=5), op("release", "a", 9, 10)]


@pytest.mark.parametrize(
    ("others", "counts"),
    [
        ([], True),
        ([replace(op("acquire", "b", 3, 8), resource="r1")], True),
        ([op("acquire", "b", 3, 8, Outcome.FAIL)], True),
        ([op("acquire", "b", 11, 12)], True),
        ([op("acquire", "b", 10, 12)], False),  # it may have been granted before
        ([op("acquire", "b", 3, 8, Outcome.INFO)], False),
        ([op("renew", "a", 3, 4)], False),
    ],
)
def test_an_expired_lock_is_one_that_nothing_renewed_and_nobody_took(others: list[Op], counts: bool) -> None:
    history = [*EXPIRED, *others]

    assert list(of_expired_locks(history)) == EXPIRED[1:] * counts


def test_a_lock_has_not_expired_while_its_lease_lasts() -> None:
    history = [EXPIRED[0], op("release", "a", 6, 7)]

    assert list(of_expired_locks(history)) == []
