"""Complete runs whose faults delay messages, wait for a holder or a lock, or split a lock service."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.history.reader import read
from checkers.history.records import History, Op
from harness.core.exit_codes import ExitCode
from harness.engines import local_toxiproxy
from harness.engines.engine import Engine
from tests.support.challenged import ATTEMPTED, counted, run_until_challenged
from tests.support.command import run_target
from tests.support.selection import nightly
from tests.support.target_files import target_text

pytestmark = pytest.mark.engine
AIMED = target_text(
    '[[faults]]\nkind = "kill"\ntarget = "lock:leader"\nat = "write-sent"\nevery = "8s"\nlasts = "1s"',
    '[[faults]]\nkind = "throttle"\ntarget = "storage"\nshare = 0.05',
    'at = "before-write"\nevery = "10s"\nlasts = "1s"',
    '[[faults]]\nkind = "partition"\ntarget = "etcd-2"\nat = "before-write"\nevery = "12s"\nlasts = "1s"',
    "[require]\nstale_writes_attempted = 0",
)


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
def test_faults_on_servers_begin_while_a_holder_is_at_their_stop_point(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(AIMED)
    folder = tmp_path / "runs/t/latest"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "t.toml", duration, engine="docker"),
        seconds=30,
        was_challenged=lambda _verdict: {"kill", "partition", "throttle"} == {*aims_of(folder)},
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    assert aims_of(folder) == {"kill": "write-sent", "throttle": "before-write", "partition": "before-write"}
    kills = [fault["in_force"] for fault in faults_of(folder) if fault["kind"] == "kill"]
    assert all(any(is_open(write, kill) for write in writes_of(folder)) for kill in kills)
    assert all(fault["in_force"] < fault["healed"] for fault in faults_of(folder))


def faults_of(folder: Path) -> list[Any]:
    faults: list[Any] = json.loads((folder / "plan.json").read_text())["faults"]
    return faults


def aims_of(folder: Path) -> dict[str, str]:
    return {fault["kind"]: fault["at"] for fault in faults_of(folder)}


def writes_of(folder: Path) -> list[Op]:
    return [each for each in read(folder / "history.jsonl").operations if each.f == "write"]


def is_open(write: Op, moment: int) -> bool:
    """Was a write called by then, and not answered yet?"""
    return write.called < moment and (write.returned is None or moment < write.returned)


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize("lock", ["etcd", "zookeeper"])
@pytest.mark.parametrize("twin", ["-unfenced", ""])
def test_a_write_of_a_holder_that_was_split_off_is_stale(tmp_path: Path, lock: str, twin: str) -> None:
    target = f"{lock}-postgres-leader-isolated{twin}"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, target, duration, engine="docker"), seconds=20
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    verdict = json.loads(done.stdout)
    refused, accepted = (verdict["coverage"][f"stale_writes_{name}"] for name in ("rejected", "accepted"))
    assert (refused == 0, accepted == 0) == ((False, True) if not twin else (True, False))
    for fault in partitions_of(tmp_path / "runs" / target / "latest"):
        leader = fault["target"].removeprefix("lock:")
        assert f"{leader} leads" in fault["evidence"]
        if lock == "etcd":  # on a busy machine, a partition may end before ZooKeeper's leader resigns
            assert f"{leader} does not serve" in fault["healed_evidence"].partition("; now ")[0]


def partitions_of(folder: Path) -> list[Any]:
    plan = json.loads((folder / "plan.json").read_text())
    return [fault for fault in plan["faults"] if fault["kind"] == "partition"]


@pytest.mark.nightly
@pytest.mark.usefixtures("docker_engine")
def test_a_fence_holds_while_five_members_are_divided_in_several_ways(tmp_path: Path) -> None:
    target = "etcd-postgres-member-partitions"
    runs = tmp_path / "runs" / target  # a slow machine may divide them in one way only in each

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, target, duration, engine="docker"),
        seconds=30,
        was_challenged=lambda verdict: ATTEMPTED(verdict) and sizes_of_near_sides(runs) == {1, 2},
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    assert json.loads(done.stdout)["verdict"] == "valid"
    assert sizes_of_near_sides(runs) == {1, 2}
    assert all(fault["in_force"] < fault["healed"] for fault in partitions_of(runs / "latest"))


def sizes_of_near_sides(runs: Path) -> set[int]:
    """How many members did the partitions of some runs divide from the others?"""
    partitions = [fault for run in runs.glob("2*") for fault in partitions_of(run)]
    return {len(fault["evidence"].partition(" from ")[0].split(", ")) for fault in partitions}


ENDING = 200_000_000  # ns
SOON = 3_000_000_000  # ns until the fault is seen in force on a busy machine; leases end every 4 s
TARGET = target_text(
    '[workload]\ntimeout = "5s"',
    '[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "4s"\nlasts = "3s"',
    '[[faults]]\nkind = "pause"\ntarget = "storage"\nwhen = "lease-ending"\nevery = "4s"\nlasts = "500ms"',
    "[require]\nstale_writes_attempted = 0",
    lock='kind = "redis"',
)


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_a_fault_waits_until_a_lease_is_about_to_end(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TARGET)
    folder = tmp_path / "runs/t/latest"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "t.toml", duration, engine="local"),
        seconds=20,
        was_challenged=counted("pauses"),
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    history = read(folder / "history.jsonl")
    faults = json.loads((folder / "plan.json").read_text())["faults"]
    paused = [fault["in_force"] for fault in faults if fault["kind"] == "pause"]
    assert paused
    assert all(
        any(0 < moment - ending < SOON for ending in nearly_over(history, moment)) for moment in paused
    )


def nearly_over(history: History, moment: int) -> list[int]:
    """From when on had a lease under 200 ms left, as its holder knew by a moment, and was still held (ns)?"""
    ends: dict[str | None, int] = {}
    released: dict[str | None, int] = {}
    for op in history.operations:
        if op.f in ("acquire", "renew") and op.ttl and op.returned and op.returned < moment:
            ends[op.owner] = max(ends.get(op.owner, 0), op.sent + op.ttl - ENDING)
        elif op.f == "release" and op.learned:
            released[op.owner] = op.learned
    return [start for owner, start in ends.items() if start < released.get(owner, moment)]


HAZARDS = [
    "before-write/before-expiry/storage",
    "before-release/before-expiry/storage",
    "before-write/regranted/storage/delayed",
    "before-release/regranted/storage/delayed",
]
CHANGES = (
    "workload.clients=6",
    f'faults=[{{kind="pause",target="storage",hazards={json.dumps(HAZARDS)}}}]',
    'require={stale_writes_attempted=0,hazards="all"}',
)


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_one_pause_of_a_server_hits_holds_of_several_resources(tmp_path: Path) -> None:
    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "etcd-postgres", duration, *CHANGES, engine="local"),
        seconds=10,
        was_challenged=lambda verdict: not verdict["hazards"]["missed"] and hit_several_holds(verdict),
    )

    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["verdict"]) == (ExitCode.AS_EXPECTED, "valid")
    assert sorted(verdict["hazards"]["hit"].keys() & HAZARDS) == sorted(HAZARDS)
    assert hit_several_holds(verdict)


def hit_several_holds(verdict: dict[str, Any]) -> bool:
    """Did a pause hit more holds than one?"""
    (windows,) = verdict["windows"]
    return bool(windows["hit"] > verdict["coverage"]["pauses"])


SECONDS = 8


def run(engine: Engine, folder: Path, target: str, *settings: str) -> tuple[int, Any, Path]:
    """Run a target until it was challenged by a delay."""
    local_toxiproxy.provide(print)
    done = run_until_challenged(
        lambda duration: run_target(folder, target, duration, *settings, engine=engine.name),
        SECONDS,
        counted("delays", "stale_writes_attempted"),
    )
    return done.returncode, json.loads(done.stdout), folder / "runs" / target / "latest"


@pytest.mark.parametrize("what", ["delayed-write", *nightly("late-renewal")])
@pytest.mark.slow
def test_an_unfenced_storage_accepts_a_stale_write(local_engine: Engine, tmp_path: Path, what: str) -> None:
    code, verdict, _ = run(local_engine, tmp_path, f"etcd-postgres-{what}-unfenced")

    assert (code, verdict["verdict"]) == (0, "invalid")
    assert verdict["anomalies"]["stale-write"] >= 1


@pytest.mark.parametrize("what", ["delayed-write", "late-renewal"])
@pytest.mark.nightly
def test_a_fenced_storage_rejects_every_stale_write(local_engine: Engine, tmp_path: Path, what: str) -> None:
    code, verdict, folder = run(local_engine, tmp_path, f"etcd-postgres-{what}")

    plan = json.loads((folder / "plan.json").read_text())
    assert (code, verdict["verdict"]) == (0, "valid")
    assert verdict["coverage"]["stale_writes_rejected"] >= 1
    assert verdict["coverage"]["delays"] == len(plan["faults"])
    assert all(each["requested"] < each["in_force"] < each["healed"] for each in plan["faults"])


@pytest.mark.nightly
def test_a_write_whose_client_gave_up_still_takes_effect(local_engine: Engine, tmp_path: Path) -> None:
    """The default timeout is shorter than the delay: the client reports it as unknown, and goes on."""
    code, verdict, folder = run(
        local_engine, tmp_path, "etcd-postgres-delayed-write-unfenced", "workload.timeout=1s"
    )

    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()[1:]]
    unknown = {event["value"] for event in events if (event["f"], event["type"]) == ("write", "info")}
    log = [json.loads(line)["value"] for line in (folder / "commits.jsonl").read_text().splitlines()]
    assert (code, verdict["verdict"]) == (0, "invalid")
    assert unknown & set(log)
