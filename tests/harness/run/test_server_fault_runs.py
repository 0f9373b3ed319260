"""Complete runs with kills of servers and faults on clients, judged by the storage's data afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.network.topology import ServerSpec, Topology
from tests.support.challenged import (
    counted,
    durations,
    found_nothing,
    proves_nothing,
    repeated,
    run_until_challenged,
)
from tests.support.command import run_target
from tests.support.missing import need
from tests.support.selection import BOTH_ENGINES
from tests.support.target_files import SUPERSEDED, target_text

pytestmark = pytest.mark.engine
SERVERS = Topology(
    servers=(ServerSpec(name="redis-1", system="redis"), ServerSpec(name="postgres", system="postgres")),
    clients=1,
    partitions=False,
)

BOTH_SIDES = {"storage", "lock:redis-1"}
KILLED = target_text(
    '[workload]\nduration = "9s"',
    '[[faults]]\nkind = "kill"\ntarget = "storage"\nevery = "3s"\nlasts = "500ms"',
    '[[faults]]\nkind = "kill"\ntarget = "redis-1"\nevery = "3s"\nlasts = "500ms"',
    SUPERSEDED,
    "[require]\nkills = 2\nstale_writes_attempted = 0",
    lock='kind = "redis"',
)


@pytest.mark.slow
@pytest.mark.parametrize("engine", BOTH_ENGINES)
def test_acknowledged_writes_survive_kills_of_both_sides(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    need(request.getfixturevalue(f"{engine}_engine"), SERVERS)
    (tmp_path / "t.toml").write_text(KILLED)

    folder = tmp_path / "runs" / "t" / "latest"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "t.toml", duration, engine=engine),
        seconds=9,
        was_challenged=lambda _verdict: was_killed_after_an_acknowledged_write(folder),
    )

    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["verdict"] == "valid"
    assert verdict["coverage"]["kills"] >= 2
    kills = kills_of(folder)
    assert {fault["target"] for fault in kills} == BOTH_SIDES
    assert all(fault["requested"] <= fault["in_force"] < fault["healed"] for fault in kills)
    acknowledged = acknowledged_before_the_last_kill(folder)
    assert acknowledged
    assert acknowledged <= {commit["value"] for commit in events_of(folder / "commits.jsonl")}


def kills_of(folder: Path) -> list[Any]:
    plan = json.loads((folder / "plan.json").read_text())
    return [fault for fault in plan["faults"] if fault["kind"] == "kill"]


def was_killed_after_an_acknowledged_write(folder: Path) -> bool:
    targets = {fault["target"] for fault in kills_of(folder)}
    return targets == BOTH_SIDES and bool(acknowledged_before_the_last_kill(folder))


def acknowledged_before_the_last_kill(folder: Path) -> set[Any]:
    """Return the values of the writes that were acknowledged before the storage was last killed."""
    last = max(fault["in_force"] for fault in kills_of(folder) if fault["target"] == "storage")
    return {
        event["value"]
        for event in events_of(folder / "history.jsonl")
        if (event["f"], event["type"]) == ("write", "ok") and event["time"] < last
    }


def events_of(file: Path) -> list[Any]:
    """Return the lines of a file without its header."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [line for line in lines if "fencepost" not in line]


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_a_fence_holds_while_servers_are_paused(tmp_path: Path) -> None:
    target = "etcd-postgres-server-pauses"
    done = run_until_challenged(lambda duration: run_target(tmp_path, target, duration), seconds=12)

    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "runs" / target / "latest" / "plan.json").read_text())
    hit = {fault["target"].partition(":")[0] for fault in plan["faults"]}
    assert json.loads(done.stdout)["verdict"] == "valid"
    assert {"client", "lock", "storage"} <= hit
    assert all(fault["in_force"] < fault["healed"] for fault in plan["faults"])


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_the_locks_of_killed_holders_go_to_other_clients(tmp_path: Path) -> None:
    target = "etcd-postgres-client-kill"
    done = run_until_challenged(lambda duration: run_target(tmp_path, target, duration), seconds=12)

    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    folder = tmp_path / "runs" / target / "latest"
    kills = kills_of(folder)
    assert verdict["verdict"] == "valid"
    assert verdict["coverage"]["kills"] == len(kills) == 2
    for kill in kills:
        after = [event for event in events_of(folder / "history.jsonl") if event["time"] > kill["in_force"]]
        granted = [event for event in after if (event["f"], event["type"]) == ("acquire", "ok")]
        assert kill["resource"] in {event["resource"] for event in granted}
        assert kill["healed"] is None


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_stopped_holders_hand_over_their_locks_and_come_back(tmp_path: Path) -> None:
    target = "etcd-postgres-stop"
    done = run_until_challenged(lambda duration: run_target(tmp_path, target, duration), seconds=12)

    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    folder = tmp_path / "runs" / target / "latest"
    stops = [
        each for each in json.loads((folder / "plan.json").read_text())["faults"] if each["kind"] == "stop"
    ]
    assert verdict["verdict"] == "valid"
    assert verdict["coverage"]["stops"] >= 3
    assert all(each["healed"] for each in stops)
    events = events_of(folder / "history.jsonl")
    numbers = {event["process"] for event in events if isinstance(event["process"], int)}
    for each in stops:
        client = int(each["target"].removeprefix("client:"))
        before = {event["process"] for event in events if event["time"] <= each["healed"]}
        since = {event["process"] for event in events if event["time"] > each["healed"]} & numbers
        assert all(number not in before for number in since if number % 6 == client)


STANDBY = Topology(
    servers=(
        ServerSpec(name="etcd-1", system="etcd"),
        ServerSpec(name="postgres", system="postgres"),
        ServerSpec(name="postgres-standby", system="postgres", follows="postgres"),
    ),
    clients=1,
    partitions=False,
)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("target", "engine", "losses"),
    [  # tests of the fault itself use both engines
        ("etcd-postgres-failover-asynchronous", "local", True),
        ("etcd-postgres-old-primary-cut-off-synchronous", "local", False),
        ("etcd-postgres-failover", "docker", False),
        ("etcd-postgres-two-primaries", "docker", True),
        ("etcd-postgres-old-primary-cut-off", "docker", True),
    ],
)
def test_a_failover_loses_writes_unless_it_is_synchronous(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, target: str, losses: bool
) -> None:
    """On a busy machine, no write may be acknowledged while the standby lags: then there is none to lose."""
    need(request.getfixturevalue(f"{engine}_engine"), STANDBY)
    challenged = counted("failovers", "stale_writes_attempted")
    longer = durations(20)

    done = repeated(
        lambda: run_target(tmp_path, target, next(longer), engine=engine),
        lambda done: proves_nothing(done, challenged) or found_nothing(done),
    )

    assert done.returncode == 0, done.stderr
    lost = [each for each in json.loads(done.stdout)["findings"] if each["anomaly"] == "lost-write"]
    assert bool(lost) == losses
    assert all(each["fault"] == "failover" for each in lost)
    assert all(any("the storage failed over at" in step for step in each["steps"]) for each in lost)
