"""The series of runs behind a card, some of them real."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.vocabulary.hazards import End, Point
from harness.card.answers import answers
from harness.card.card import most_runs, planned, run_series
from harness.card.seen import Seen
from harness.card.series import STALE, Experiment, Subject, series, target_of
from harness.core.errors import ConfigurationError, FaultNotInstalledError, InfrastructureError
from harness.engines.engine import Engine
from harness.files.run_folder import HISTORY
from harness.run import deployment
from harness.run.runner import RunOptions
from harness.spec.hazards import hazard_table
from tests.support.missing import need
from tests.support.repository import ROOT
from tests.support.selection import nightly
from workloads.client import GIVES_NONE
from workloads.line_protocol.program_client import ProgramError

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
    "lock",
    [
        "redis",
        "etcd",
        "etcd-lock",
        "zookeeper",
        "postgres",
        "pgbouncer",
        "dynamodb",
        "hazelcast",
        "kubernetes",
    ],
)
def test_every_run_of_the_series_is_a_target(lock: str) -> None:
    subject = replace(SUBJECT, lock=lock)
    targets = {each.name: target_of(subject, each) for each in series(lock)}

    assert len(targets) == 18 + (lock == "redis")
    for name, target in targets.items():
        assert target.name == f"redis-py-{name}"
        assert target.fenced == name.endswith("-fenced")
    unfenced = {f"pause-{at}-unfenced" for at in (*STALE, "before-write-freed")}
    assert {name for name, target in targets.items() if target.expected == ("stale-write",)} == unfenced


def test_runs_that_need_it_get_four_times_as_long() -> None:
    lengths = {each.name: target_of(SUBJECT, each).workload.duration // 10**9 for each in series("redis")}

    longer = ("pause-all-fenced", "stop", "restart", "failover")
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

    assert len(targets) == 13
    assert not any(target.fenced for target in targets)
    assert {target.lock.token for target in targets} == {"none"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"command": "python3 'mine"}, "is not a command"),
        ({"lock": "redi"}, "^--lock redi: .*did you mean redis"),
        ({"fencing": "none"}, "--fencing none: the fenced runs need"),
        ({"name": "a/b"}, "name"),
        ({"duration": "10"}, "^--duration 10: "),
        ({"duration": "5s"}, "^--duration 5s: .* is too short for faults"),
        ({"storage": "mongo"}, "^--storage mongo: "),
        ({"fencing": "cas"}, "^--fencing cas: "),
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


@pytest.mark.parametrize("only", [[], ["restart"]])
def test_a_program_that_does_not_start_ends_the_series(
    local_engine: Engine, monkeypatch: pytest.MonkeyPatch, only: list[str]
) -> None:
    def run(*_: object) -> None:
        raise InfrastructureError("mine: did not become ready") from ProgramError("did not become ready")

    monkeypatch.setattr("harness.card.card.to_verdict", run)

    with pytest.raises(InfrastructureError, match=r"^mine: did not become ready$"):
        next(run_series(SUBJECT, planned(SUBJECT, local_engine, only), local_engine, RunOptions()))


def test_a_fault_that_was_not_observed_does_not_end_the_series(
    local_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> None:
        raise FaultNotInstalledError("kill", "redis-1", "it still ran")

    monkeypatch.setattr("harness.card.card.to_verdict", run)
    restarts = planned(SUBJECT, local_engine, ["restart"])

    made = list(run_series(SUBJECT, restarts, local_engine, RunOptions()))

    assert ["it still ran" in each.failure for each in made] == [True] * 3


def test_a_lock_without_servers_has_no_whole_card(local_engine: Engine) -> None:
    subject = replace(SUBJECT, lock="client")

    assert planned(subject, local_engine, ["calm", "stop"])
    with pytest.raises(ConfigurationError, match=r"^--lock client: the series needs servers .* --lock redis"):
        planned(subject, local_engine)


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
